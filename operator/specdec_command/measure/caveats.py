"""What a reader has to know before believing the numbers."""

from collections.abc import Iterator

from specdec_command.measure.benchmark import Side
from specdec_command.measure.compare import Level, Measurement, has_strangers
from specdec_operator.guard.cache_use import WAYS_OUT
from specdec_operator.guard.what_if import HIGH, STRONGER


def caveats(measurement: Measurement) -> Iterator[str]:
    """All remarks, the weightiest first."""
    yield from _differences(measurement)
    yield from _hardware(measurement)
    for side in Side:
        yield from _other_clients(measurement, side)
    for level in measurement.levels:
        yield from _about(level, greedy=measurement.order.sampling.greedy)
    yield from _acceptance(measurement)
    yield from _load(measurement)
    for each in measurement.redone:
        yield f"Discarded and repeated: {each}."
    yield (
        "Requests went through the API server's proxy. Its time is part of the times of both sides, so it moves their "
        "ratios towards 1."
    )
    yield (
        "Every repeat sends the same prompts: with prefix caching, the times to first token on both sides are those "
        "of cached prompts."
    )


def _differences(measurement: Measurement) -> Iterator[str]:
    """What differs between the two sides beside speculation."""
    if measurement.order.in_place:
        yield (
            "Measured in place: first all repeats with speculation, then all repeats of the baseline, on other pods. "
            "The two sides were not interleaved, so changes in between (neighbours, clocks, other clients) affect the "
            "ratios, but not their intervals."
        )
    for each in measurement.context.other_differences:
        yield f"The two sides differ by more than speculation: {each}."


def _hardware(measurement: Measurement) -> Iterator[str]:
    speculating, baseline = measurement.context.speculating, measurement.context.plain
    if set(map(str, speculating.nodes)) != set(map(str, baseline.nodes)):
        yield "The two sides ran on different hardware, so the ratios also contain the difference of the machines."
    elif not measurement.order.in_place and speculating.node_names & baseline.node_names:
        yield (
            "Both sides had pods on one node. Only one of them got requests at a time, but they share resources of "
            "the node, such as main memory and its bandwidth."
        )
    if speculating.pods != baseline.pods:
        yield f"{speculating.pods} pods with speculation, {baseline.pods} without."


def _other_clients(measurement: Measurement, side: Side) -> Iterator[str]:
    repeats = [each for each in measurement.repeats if each.turn.side is side]
    if has_strangers(repeats):
        ours, all_of_them = sum(each.tokens for each in repeats), sum(each.drafting.generated for each in repeats)
        yield (
            f"Other clients also sent requests to the {side} side: its engines generated {all_of_them:.0f} tokens "
            f"during the measurement, {ours} of them for it."
        )


def _acceptance(measurement: Measurement) -> Iterator[str]:
    """What to do about the draft: if long requests lose it, and if it has more to give."""
    if fall := measurement.length_fall:
        yield f"With speculation {fall.message}. To change that, {WAYS_OUT}."
    rates = [each.speculating.drafting.rate or 0.0 for each in measurement.levels]
    if min(rates) > HIGH:
        yield f"Acceptance is above {HIGH} at every load: try a larger K, or {STRONGER}."


def _load(measurement: Measurement) -> Iterator[str]:
    """What the requests that were chosen do to the numbers."""
    if not measurement.order.sampling.greedy:
        yield (
            "Answers were sampled, so the two sides wrote different texts of different lengths: time per output token "
            "is less affected by that than tokens/s."
        )
    if any(level.load.rate for level in measurement.levels):
        yield (
            "At an arrival rate that both sides serve, tokens/s is that of the arrivals: it differs only if one side "
            "falls behind."
        )
    if measurement.context.method == "suffix":
        yield (
            "Suffix decoding reuses earlier answers, and this measurement repeats the same prompts: acceptance and "
            "speed are lower for traffic without repetition."
        )


def _about(level: Level, *, greedy: bool) -> Iterator[str]:
    at_once, equal, again = f"With {level.load.words}", level.equal, level.plain_again
    if not level.speculating.drafting.drafted:
        yield f"{at_once} the engine drafted nothing, so both sides ran without speculation."
    if level.plain.drafting.drafted:
        yield f"{at_once} the baseline side drafted tokens, so it is not a baseline."
    if greedy and equal.same < equal.of:
        yield (
            f"{at_once} {equal.same} of {equal.of} greedy answers are the same on both sides. The baseline side "
            f"repeats itself in {again.same} of {again.of}: differences there come from rounding that depends on the "
            "batch, not from speculation."
        )
