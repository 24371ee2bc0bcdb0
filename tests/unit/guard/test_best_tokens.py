"""The fastest number of draft tokens at each load, out of dips and the acceptance by position."""

import pytest

from specdec_operator.guard.best_tokens import TokensAtLoad, advice, fastest
from specdec_operator.guard.dips import DipTotals, Kind, OtherDips, OtherKind
from specdec_operator.guard.gain import DipEvidence, DipSpan
from specdec_operator.guard.rows import TokensUpTo

REQUESTS = 4000.0
GOOD, POOR = (0.9, 0.8, 0.75, 0.7), (0.5, 0.1, 0.0, 0.0)
"""Share of the drafts that are accepted up to each position."""


def dips_at(ratio: float, count: float = 12) -> DipTotals:
    """Dips of one window whose steps take `ratio` of those around them."""
    return DipTotals(dips=count, ratios=count * ratio, squares=count * ratio * ratio)


def window(loads: dict[int, tuple[tuple[float, ...], dict[int, float]]]) -> DipSpan:
    """A window of K = 4. By load: acceptance by position, and by K' the ratio of the seconds."""
    kinds: dict[Kind, DipTotals] = {}
    others: dict[OtherKind, DipTotals] = {}
    accepted: dict[Kind, tuple[float, ...]] = {}
    for batch, (shares, ratios) in loads.items():
        nothing = dips_at(ratios.get(0, 0.9), 12 if 0 in ratios else 0)
        tokens = REQUESTS * (1 + sum(shares))
        kinds[4, batch] = DipTotals(
            seconds=100,
            requests=REQUESTS,
            tokens=tokens,
            **{name: getattr(nothing, name) for name in ("dips", "ratios", "squares")},
        )
        accepted[4, batch] = tuple(REQUESTS * share for share in shares)
        others |= {(4, batch, tokens): dips_at(ratio) for tokens, ratio in ratios.items() if tokens}
    return DipSpan(kinds=kinds, other=OtherDips(dips=others, accepted=accepted), seconds=120.0)


def found(loads: dict[int, tuple[tuple[float, ...], dict[int, float]]], windows: int = 20) -> tuple[TokensAtLoad, ...]:
    """What so many equal windows show."""
    evidence = DipEvidence()
    for _ in range(windows):
        evidence = evidence.plus(window(loads))
    return fastest(evidence.before)


def test_a_draft_that_guesses_only_its_first_token_is_faster_with_one() -> None:
    """Four tokens bring 1.6 a step and one brings 1.5, in three quarters of the time."""
    (best,) = found({1: (POOR, {0: 0.65, 1: 0.75, 2: 0.9, 3: 0.95})})
    assert (best.batch, best.home, best.tokens) == (1, 4, 1)
    assert best.speed == pytest.approx(1.5 / 1.6 / 0.75)
    assert 1 < best.low < best.speed
    assert best.dips >= 100


def test_a_draft_that_guesses_all_stays() -> None:
    """Fewer tokens are cheaper, and bring less."""
    (best,) = found({1: (GOOD, {0: 0.5, 1: 0.62, 2: 0.75, 3: 0.88})})
    assert best == TokensAtLoad(batch=1, home=4, tokens=4)


def test_a_load_without_dips_keeps_its_k() -> None:
    """A batch that prompts keep from dips may have most of the time."""
    first, other = found({1: (POOR, {0: 0.65, 1: 0.75}), 16: (GOOD, {})})
    assert (first.tokens, other) == (1, TokensAtLoad(batch=16, home=4, tokens=4))


def test_nothing_is_not_recommended_at_a_load() -> None:
    """A dip at nothing leaves the drafter out, and vLLM's own 0 does not."""
    (best,) = found({16: (POOR, {0: 0.5, 1: 0.95})})
    assert best.tokens == 4


@pytest.mark.parametrize("ratio", [5e-324, 1e-300, 0.0])
def test_a_ratio_of_no_engine_is_left_out(ratio: float) -> None:
    """A page can have any number."""
    (best,) = found({1: (POOR, {0: 0.65, 1: ratio})})
    assert best.tokens == 4


@pytest.mark.parametrize(
    ("shares", "ratios", "windows"),
    [
        (POOR, {0: 0.65, 1: 0.75}, 0),
        (POOR, {0: 0.65, 1: 0.75}, 1),  # one block: what a machine does to a ratio is not known
        (POOR, {0: 0.65, 1: 0.91}, 20),  # 1.03 times as fast: not worth a change
        ((), {0: 0.65, 1: 0.75}, 20),  # a rule dropped the series of accepted tokens
    ],
)
def test_what_is_not_sure_changes_nothing(shares: tuple[float, ...], ratios: dict[int, float], windows: int) -> None:
    """The K that runs, or nothing at all."""
    assert not any(each.is_other for each in found({1: (shares, ratios)}, windows))


def test_a_load_with_few_requests_is_not_known() -> None:
    """Its acceptance by position is chance."""
    seen = window({1: (POOR, {0: 0.65, 1: 0.75})}).as_block
    few = DipSpan(kinds={kind: each.faded(0.1) for kind, each in seen.kinds.items()}, other=seen.other)
    assert not any(each.is_other for each in fastest(few))


def at(batch: int, tokens: int) -> TokensAtLoad:
    """The fastest K at a load, with K = 4."""
    return TokensAtLoad(batch=batch, home=4, tokens=tokens, speed=1.25, low=1.1, dips=31)


ROWS = {
    ((1, 4), (8, 2)): ((4, 4), (None, 2)),
    ((1, 4), (2, 4), (4, 2), (8, 2), (16, 1)): ((2, 4), (8, 2), (None, 1)),
    ((2, 1), (8, 4)): ((1, 4), (2, 1), (None, 4)),
    ((4, 1),): (),
    ((1, 1), (4, 1)): (),
}


@pytest.mark.parametrize(("loads", "rows"), ROWS.items())
def test_the_schedule_has_the_fastest_of_each_load(
    loads: tuple[tuple[int, int], ...], rows: tuple[tuple[int | None, int], ...]
) -> None:
    """A load that was not seen has the K that runs; above all that were seen, the K of the largest holds."""
    found = advice(tuple(at(*each) for each in loads))
    assert found is not None
    assert found.by_batch_size == tuple(TokensUpTo(up_to=size, tokens=tokens) for size, tokens in rows)
    assert found.tokens == (4 if rows else 1)


def test_the_reason_has_its_numbers() -> None:
    """Of each load that changes."""
    found = advice((at(1, 4), at(8, 2), at(16, 1)))
    assert found is not None
    assert found.message == (
        "with up to 8 running requests 2 tokens are 1.25 times as fast as 4 (at least 1.10, 31 dips); with up to 16 "
        "running requests 1 token is 1.25 times as fast as 4 (at least 1.10, 31 dips)"
    )


@pytest.mark.parametrize("loads", [(), ((1, 4), (8, 4))])
def test_without_a_faster_k_there_is_no_advice(loads: tuple[tuple[int, int], ...]) -> None:
    """The K that runs stays."""
    assert advice(tuple(at(*each) for each in loads)) is None
