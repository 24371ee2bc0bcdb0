"""hack.models.drift: the second language."""

from hack.models import drift

SEED = 11


def test_any_two_words_decide_the_third_and_every_pair_occurs_once() -> None:
    circle = drift.circle(SEED)
    pairs = {(circle[i], circle[(i + 1) % len(circle)]) for i in range(len(circle))}
    assert len(circle) == len(pairs) == drift.WORDS**2


def test_one_word_alone_does_not_determine_the_next() -> None:
    circle = drift.circle(SEED)
    after_first = {circle[(i + 1) % len(circle)] for i, word in enumerate(circle) if word == circle[0]}
    assert len(after_first) == drift.WORDS


def test_a_sentence_goes_on_where_another_one_started() -> None:
    assert drift.sentence(SEED, 5, 4).split()[1:] == drift.sentence(SEED, 6, 3).split()
