"""What a reader has to know before believing the numbers."""

from collections.abc import Iterator
from typing import Final

from specdec_operator.measure.benchmark import Side
from specdec_operator.measure.compare import Level, Measurement

_STRANGERS: Final = 0.02
"""Share of tokens that nobody here asked for, above which other clients are told of."""


def caveats(measurement: Measurement) -> Iterator[str]:
    """All remarks, the weightiest first."""
    if measurement.order.in_place:
        yield (
            "Measured in place: first all repeats with speculation, then all repeats plain, on other pods. The two "
            "sides were not interleaved, so what changed in between (neighbours, clocks, other clients) is in the "
            "ratios and not in their intervals."
        )
    for each in measurement.context.other_differences:
        yield f"The two sides differ by more than speculation: {each}."
    yield from _hardware(measurement)
    for side in Side:
        yield from _other_clients(measurement, side)
    for level in measurement.levels:
        yield from _about(level)
    if measurement.context.method == "suffix":
        yield (
            "Suffix decoding remembers earlier answers, and here the same prompts come again and again: acceptance and "
            "speed of traffic that does not repeat itself are lower."
        )
    for each in measurement.redone:
        yield f"Thrown away and done again: {each}."
    yield (
        "Requests went through the API server's proxy. Its own time is in the times of both sides alike, so it draws "
        "their ratios towards 1."
    )
    yield (
        "Every repeat asks the same prompts: with prefix caching, times to the first token are those of prompts that "
        "the engine has seen, on both sides."
    )


def _hardware(measurement: Measurement) -> Iterator[str]:
    speculating, plain = measurement.context.speculating, measurement.context.plain
    if set(map(str, speculating.nodes)) != set(map(str, plain.nodes)):
        yield "The two sides ran on different hardware: the ratios are of two machines as much as of speculation."
    elif not measurement.order.in_place and speculating.node_names & plain.node_names:
        yield (
            "Both sides had pods on one node. Only one of them was asked at a time, but they share what the node does "
            "not divide, such as main memory and its bandwidth."
        )
    if speculating.pods != plain.pods:
        yield f"{speculating.pods} pods with speculation against {plain.pods} plain."


def _other_clients(measurement: Measurement, side: Side) -> Iterator[str]:
    repeats = [each for each in measurement.repeats if each.turn.side is side]
    ours, all_of_them = sum(each.tokens for each in repeats), sum(each.drafting.generated for each in repeats)
    if all_of_them > ours * (1 + _STRANGERS):
        yield (
            f"Other clients asked the {side} side as well: its engines generated {all_of_them:.0f} tokens meanwhile, "
            f"{ours} of them for this measurement."
        )


def _about(level: Level) -> Iterator[str]:
    at_once, equal, again = f"With {level.concurrency} at once", level.equal, level.plain_again
    if not level.speculating.drafting.drafted:
        yield f"{at_once} the engine drafted nothing: both sides were plain."
    if level.plain.drafting.drafted:
        yield f"{at_once} the plain side drafted tokens: it is not plain."
    if equal.same < equal.of:
        yield (
            f"{at_once} {equal.same} of {equal.of} greedy answers are the same on both sides. The plain side repeats "
            f"itself in {again.same} of {again.of}: what is missing there too is rounding that depends on the batch, "
            "not speculation."
        )
