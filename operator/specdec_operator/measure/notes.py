"""What a reader has to know before believing the numbers: one small function a remark."""

from collections.abc import Callable, Iterator
from typing import Final

from specdec_operator.measure.measurement import Measurement
from specdec_operator.measure.sides import Side

_STRANGERS: Final = 0.02
"""Share of tokens that nobody here asked for, above which other clients are told of."""


def notes(found: Measurement) -> tuple[str, ...]:
    """All remarks, the weightiest first."""
    return tuple(sentence for remark in _REMARKS for sentence in remark(found))


def _in_place(found: Measurement) -> Iterator[str]:
    if found.order.in_place:
        yield (
            "Measured in place: first all repeats with speculation, then all repeats plain, on other pods. The two "
            "sides were not interleaved, so what changed in between (neighbours, clocks, other clients) is in the "
            "ratios and not in their intervals."
        )


def _differences(found: Measurement) -> Iterator[str]:
    for each in found.context.other_differences:
        yield f"The two sides differ by more than speculation: {each}."


def _hardware(found: Measurement) -> Iterator[str]:
    speculating, plain = found.context.speculating, found.context.plain
    if set(map(str, speculating.nodes)) != set(map(str, plain.nodes)):
        yield "The two sides ran on different hardware: the ratios are of two machines as much as of speculation."
    elif not found.order.in_place and speculating.node_names & plain.node_names:
        yield (
            "Both sides had pods on one node. Only one of them was asked at a time, but they share what the node does "
            "not divide, such as main memory and its bandwidth."
        )
    if speculating.pods != plain.pods:
        yield f"{speculating.pods} pods with speculation against {plain.pods} plain."


def _others(found: Measurement) -> Iterator[str]:
    for side in Side:
        repeats = [each for each in found.repeats if each.turn.side is side]
        ours, all_of_them = sum(each.tokens for each in repeats), sum(each.drafting.generated for each in repeats)
        if all_of_them > ours * (1 + _STRANGERS):
            yield (
                f"Other clients asked the {side} side as well: its engines generated {all_of_them:.0f} tokens "
                f"meanwhile, {ours} of them for this measurement."
            )


def _not_drafting(found: Measurement) -> Iterator[str]:
    for level in found.levels:
        if not level.speculating.drafting.drafted:
            yield f"With {level.concurrency} at once the engine drafted nothing: both sides were plain."
        if level.plain.drafting.drafted:
            yield f"With {level.concurrency} at once the plain side drafted tokens: it is not plain."


def _answers(found: Measurement) -> Iterator[str]:
    for level in found.levels:
        if level.equal.same < level.equal.of:
            yield (
                f"With {level.concurrency} at once {level.equal.same} of {level.equal.of} greedy answers are the same "
                f"on both sides. The plain side repeats itself in {level.plain_again.same} of {level.plain_again.of}: "
                "what is missing there too is rounding that depends on the batch, not speculation."
            )


def _memory_of_answers(found: Measurement) -> Iterator[str]:
    if found.context.method == "suffix":
        yield (
            "Suffix decoding remembers earlier answers, and here the same prompts come again and again: acceptance and "
            "speed of traffic that does not repeat itself are lower."
        )


def _redone(found: Measurement) -> Iterator[str]:
    for each in found.redone:
        yield f"Thrown away and done again: {each}."


def _proxy(found: Measurement) -> Iterator[str]:
    del found  # it is so in every measurement
    yield (
        "Requests went through the API server's proxy. Its own time is in the times of both sides alike, so it draws "
        "their ratios towards 1."
    )
    yield (
        "Every repeat asks the same prompts: with prefix caching, times to the first token are those of prompts that "
        "the engine has seen, on both sides."
    )


_REMARKS: Final[tuple[Callable[[Measurement], Iterator[str]], ...]] = (
    _in_place,
    _differences,
    _hardware,
    _others,
    _not_drafting,
    _answers,
    _memory_of_answers,
    _redone,
    _proxy,
)
