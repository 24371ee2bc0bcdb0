"""Prompts: what a line may contain, how a bad one is refused, and the two built-in sets."""

from importlib import resources

import pytest

from specdec_command.measure.prompts import digest, parse
from specdec_operator.errors import Invalid

BUILT_IN = ("code", "chat")


def built_in(name: str) -> str:
    return (resources.files("specdec_command.measure") / "data" / f"{name}.jsonl").read_text(encoding="utf-8")


def test_both_forms_and_blank_lines_are_taken() -> None:
    """A prompt goes to completions, messages to chat completions."""
    text, chat = parse('{"prompt": "a"}\n\n{"messages": [{"role": "user", "content": "b"}]}\n', "mine")
    assert (text.path, text.body) == ("/v1/completions", {"prompt": "a"})
    assert (chat.path, chat.body) == ("/v1/chat/completions", {"messages": [{"role": "user", "content": "b"}]})


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("{", "is not JSON"),
        ("[1]", 'must be {"prompt": "..."}'),
        ("{}", 'must be {"prompt": "..."}'),
        ('{"prompt": "a", "messages": []}', 'must be {"prompt": "..."}'),
        ('{"prompt": "a", "temperature": 1, "n": 2}', "also has n, temperature; all requests have the same settings"),
        ('{"prompt": ""}', "must be text that is not empty"),
        ('{"prompt": ["a"]}', "must be text that is not empty"),
        ('{"messages": []}', "must be a list with at least one message"),
        ('{"messages": [{"role": "user", "content": "a"}, {"role": 1, "content": "b"}]}', "messages[1]: "),
        ('{"messages": [{"role": "user"}]}', 'must be {"role": "user", "content": "..."}'),
    ],
)
def test_a_bad_line_is_refused_with_its_place(line: str, rule: str) -> None:
    """File, line number, what stands there, and the rule."""
    with pytest.raises(Invalid) as caught:
        parse(f'{{"prompt": "good"}}\n\n{line}\n', "mine.jsonl")
    assert caught.value.message.startswith("mine.jsonl:3")
    assert rule in caught.value.message


def test_an_empty_file_is_refused() -> None:
    """Without a prompt there is nothing to measure."""
    with pytest.raises(Invalid, match="has no prompt"):
        parse("\n\n", "mine.jsonl")


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_set_is_varied_and_plain(name: str) -> None:
    """At least 20 prompts, all different, short and long, in plain ASCII, and none too long for a small context."""
    prompts = parse(built_in(name), name)
    lengths = [len(str(each.body)) for each in prompts]
    assert len(prompts) >= 20
    assert len({str(each.body) for each in prompts}) == len(prompts)
    assert max(lengths) >= 10 * min(lengths)
    assert max(lengths) < 1500
    assert built_in(name).isascii()


def test_different_lists_have_different_digests() -> None:
    """Other prompts, or the same in another order, are another measurement."""
    one, other = parse('{"prompt": "a"}\n{"prompt": "b"}', "x"), parse('{"prompt": "b"}\n{"prompt": "a"}', "x")
    assert digest(one) == digest(parse('{ "prompt" :"a"}\n{"prompt": "b"}', "y"))
    assert digest(one) != digest(other)
