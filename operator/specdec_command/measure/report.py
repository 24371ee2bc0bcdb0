"""The measurement as Markdown and as JSON: conclusions, the figures, how they were made, and the context."""

import hashlib
import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from typing import Any, Final

from specdec_command.measure.benchmark import WARM_UPS
from specdec_command.measure.caveats import caveats
from specdec_command.measure.compare import AnsweredPrompts, Level, Measurement, Repeat
from specdec_command.measure.context import NodeHardware, Running
from specdec_command.measure.decision import decide, decide_all
from specdec_command.measure.requests import sampling_used
from specdec_command.measure.table import conclusions_of, rows

_VERSION: Final = 1
"""Of the document's shape."""
_HEAD: Final = "| requests | figure | speculating | baseline | speed-up |\n|---:|---|---:|---:|---:|"


def markdown(measurement: Measurement) -> str:
    """The whole page."""
    context, levels = measurement.context, measurement.levels
    parts = [
        f"# {context.namespace}/{context.name}: speculation compared with the baseline",
        "\n".join(f"{each}  " for each in conclusions_of(measurement)),
        "## Figures",
        "\n".join([_HEAD, *(f"| {load} | {' | '.join(row)} |" for load, row in _rows(measurement))]),
        _legend(measurement),
        "## Acceptance by position",
        _positions(levels),
        "## Limits of these results",
        _list(caveats(measurement)),
        "## How it was measured",
        _list(_rules(measurement)),
        "## What was measured, and on what",
        _table(_facts(measurement)),
        "## The two commands",
        _side("With speculation", context.speculating),
        _side("Plain", context.plain),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _rows(measurement: Measurement) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The rows of the table, each with its load: so many at once, or so many a second."""
    greedy = measurement.order.sampling.greedy
    return ((each.load.label, row) for each in measurement.levels for row in rows(each, greedy=greedy))


def _legend(measurement: Measurement) -> str:
    confidence = min(each.tokens_per_second.confidence for each in measurement.levels)
    return (
        f"Figures are medians over {measurement.order.repeats} repeats, with their quartiles. A speed-up is the "
        "median of the ratios of repeats with the same number (baseline / speculating for times, speculating / "
        "baseline for tokens/s: above 1 speculation is faster); its interval covers the true median with "
        f"{100 * confidence:.0f} % confidence for any distribution. *Not resolved*: the interval includes 1. "
        "Acceptance is accepted / drafted tokens from the engine's counters. Answers are compared as text; the column "
        "*baseline* compares the baseline side with its own next repeat."
    )


def _positions(levels: Sequence[Level]) -> str:
    """For each load the share of drafts accepted at each position, and the mean length."""
    drafted = [(each.load.label, each.speculating.drafting) for each in levels if each.speculating.drafting.drafted]
    if not drafted:
        return "Nothing was drafted."
    positions = max(len(drafting.by_position) for _, drafting in drafted)
    heads = [f"position {index + 1}" for index in range(positions)]
    lines = [f"| requests | tokens per step | {' | '.join(heads)} |", f"|---:|---:|{'---:|' * positions}"]
    for load, drafting in drafted:
        shares = [f"{value:.2f}" for value in drafting.by_position] + [""] * (positions - len(drafting.by_position))
        lines.append(f"| {load} | {drafting.length:.2f} | {' | '.join(shares)} |")
    return "\n".join(lines)


def _rules(measurement: Measurement) -> Iterator[str]:
    order = measurement.order
    yield f"{order.prompts} prompts ({order.source}, digest {order.digest}), in the same order for both sides."
    used = sampling_used(order.sampling, measurement.context.speculating.command)
    yield f"Every request: `{json.dumps(order.request)}`. {used}"
    if order.rates:
        yield "At a rate requests arrive at random times (a Poisson process), the same on both sides of a repeat."
    yield (
        f"{WARM_UPS} warm-up requests before a side's first repeat at each load, then {order.repeats} repeats; "
        "a repeat is all prompts once."
    )
    if order.in_place:
        yield "All repeats with speculation first, then all repeats of the baseline."
    else:
        yield "The sides alternate, repeat by repeat: speculating, baseline; baseline, speculating; and so on."
    yield (
        "Time to first token: from sending a request to its first token. Time per output token: (last - first) / "
        "(tokens - 1). Both are medians over the prompts of a repeat. tokens/s: all completion tokens of a repeat by "
        "its whole time."
    )


def _facts(measurement: Measurement) -> Iterator[tuple[str, str]]:
    context = measurement.context
    yield "date", context.at
    yield "model", context.model
    yield "draft", context.draft
    yield "method", f"{context.method}, K {context.tokens}"
    yield "guard", f"mode {context.guard_mode} on the speculating side, Off on the baseline side"
    yield "KServe", context.kserve
    sides = (("speculating", context.speculating), ("plain", context.plain))
    for name, read in (("engine", _engine), ("pods", _pods), ("hardware", _hardware)):
        one, other = (read(side) for _, side in sides)
        if one == other:
            yield name, one
        else:
            yield f"{name}, speculating", one
            yield f"{name}, baseline", other


def _engine(side: Running) -> str:
    return f"vLLM {side.engine_version}, image {side.image} ({side.image_id or 'digest unknown'})"


def _pods(side: Running) -> str:
    return f"{side.pods}, each with {_inline(side.resources) or 'no requests and no limits'}"


def _hardware(side: Running) -> str:
    return "; ".join(_node(each) for each in side.nodes)


def _node(node: NodeHardware) -> str:
    if not node.readable:
        return "unknown: this kubeconfig has no permission to read nodes"
    labels = _inline(node.labels) or "no label shows the machine or processor type"
    return f"capacity {_inline(node.capacity)}; {labels}; {_inline(node.system)}"


def _side(title: str, side: Running) -> str:
    command = re.sub(" (?='?--)", " \\\\\n  ", " ".join(map(shlex.quote, side.command)))
    environment = "\n".join(side.environment)
    return f"{title}:\n\n```\n{command}\n```" + (f"\n\nwith\n\n```\n{environment}\n```" if environment else "")


def _inline(values: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{key} {{{_inline(value)}}}" if isinstance(value, Mapping) else f"{key} {value}"
        for key, value in values.items()
    )


def _list(lines: Iterator[str]) -> str:
    return "\n".join(f"- {each}" for each in lines)


def _table(rows: Iterator[tuple[str, str]]) -> str:
    return "\n".join(
        ["| | |", "|---|---|", *(f"| {name} | {value.replace('|', chr(92) + '|')} |" for name, value in rows)]
    )


def document(measurement: Measurement) -> dict[str, Any]:
    """Everything. Times in seconds, shares from 0 to 1, ratios above 1 where speculation is faster."""
    context = asdict(measurement.context)
    for side in ("speculating", "plain"):
        del context[side]["node_names"]
    return {
        "version": _VERSION,
        "order": asdict(measurement.order),
        "request": measurement.order.request,
        "warm_ups": WARM_UPS,
        "context": context,
        "notes": list(caveats(measurement)),
        "decision": decide_all(measurement.levels).value,
        "levels": [with_properties(each) | {"decision": decide(each).value} for each in measurement.levels],
        "repeats": [_repeat(each) for each in measurement.repeats],
    }


def with_properties(value: Any) -> Any:
    """Dataclasses as dictionaries of their fields and of what follows from them, also those in tuples."""
    if isinstance(value, tuple):
        return [with_properties(each) for each in value]
    if not is_dataclass(value):
        return value
    derived = (name for name, part in vars(type(value)).items() if isinstance(part, property))
    return {name: with_properties(getattr(value, name)) for name in (*(each.name for each in fields(value)), *derived)}


def _repeat(repeat: Repeat) -> dict[str, Any]:
    return {
        "side": repeat.turn.side.value,
        "concurrency": repeat.turn.load.concurrency,
        "rate": repeat.turn.load.rate,
        "repeat": repeat.turn.repeat,
        **repeat_document(repeat),
        "cache_used": repeat.cache_used,
    }


def repeat_document(repeat: AnsweredPrompts) -> dict[str, Any]:
    """One repeat, each answer's times with it; of the texts only digests: they may be private."""
    return {
        "seconds": repeat.seconds,
        "tokens_per_second": repeat.tokens_per_second,
        "first_token": repeat.first_token,
        "per_token": repeat.per_token,
        "drafting": asdict(repeat.drafting),
        "answers": [
            {
                "tokens": each.tokens,
                "prompt_tokens": each.prompt_tokens,
                "first": each.first,
                "last": each.last,
                "characters": len(each.text),
                "digest": hashlib.sha256(each.text.encode()).hexdigest()[:12],
            }
            for each in repeat.answers
        ],
    }
