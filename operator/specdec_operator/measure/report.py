"""The measurement as Markdown: what it says, the figures, how they were made, and the context."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from specdec_operator.measure.compare import Level
from specdec_operator.measure.context import Node, Running
from specdec_operator.measure.measurement import Measurement
from specdec_operator.measure.notes import notes
from specdec_operator.measure.order import SEED, WARM_UPS, sampling
from specdec_operator.measure.words import conclusion, equal, milliseconds, share, speed, times

_HEAD: Final = "| requests at once | figure | speculating | plain | speed-up |\n|---:|---|---:|---:|---:|"


def report(found: Measurement) -> str:
    """The whole page."""
    context = found.context
    parts = [
        f"# {context.namespace}/{context.name}: speculation against plain",
        "\n".join(conclusion(each.concurrency, each.tokens_per_second) + "  " for each in found.levels),
        "## Figures",
        "\n".join([_HEAD, *(row for each in found.levels for row in _rows(each))]),
        _legend(found),
        "## Acceptance by position",
        _positions(found.levels),
        "## Before you believe them",
        _list(notes(found)),
        "## How it was measured",
        _list(_rules(found)),
        "## What was measured, and on what",
        _table(_facts(found)),
        "## The two commands",
        _side("With speculation", context.speculating),
        _side("Plain", context.plain),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _rows(level: Level) -> Iterator[str]:
    one, other = level.speculating, level.plain
    cells = (
        ("tokens/s", speed(one.tokens_per_second), speed(other.tokens_per_second), times(level.tokens_per_second)),
        (
            "time per output token, ms",
            milliseconds(one.per_token),
            milliseconds(other.per_token),
            times(level.per_token),
        ),
        (
            "time to first token, ms",
            milliseconds(one.first_token),
            milliseconds(other.first_token),
            times(level.first_token),
        ),
        ("acceptance", share(one.acceptance), share(other.acceptance), ""),
        ("answers equal to the plain side's", equal(level.equal), equal(level.plain_again), ""),
    )
    for row in cells:
        yield f"| {level.concurrency} | {' | '.join(row)} |"


def _legend(found: Measurement) -> str:
    confidence = min(each.tokens_per_second.confidence for each in found.levels)
    return (
        f"Figures are medians over {found.order.repeats} repeats, with their quartiles. A speed-up is the median of "
        "the ratios of repeats with the same number (plain / speculating for times, speculating / plain for tokens/s: "
        f"above 1 speculation is faster); its interval covers the true median with {100 * confidence:.0f} % confidence "
        "whatever the distribution. *Not resolved*: the interval has 1 in it. Acceptance is accepted / drafted tokens "
        "by the engine's own counters. Answers are compared as text; the column *plain* is the plain side against its "
        "own next repeat."
    )


def _positions(levels: Sequence[Level]) -> str:
    """For each concurrency the share of drafts accepted at each position, and the mean length; empty without drafts."""
    drafted = [each for each in levels if each.speculating.drafting.drafted]
    if not drafted:
        return "Nothing was drafted."
    positions = max(len(each.speculating.drafting.by_position) for each in drafted)
    heads = [f"position {index + 1}" for index in range(positions)]
    lines = [f"| requests at once | tokens per step | {' | '.join(heads)} |", f"|---:|---:|{'---:|' * positions}"]
    for each in drafted:
        drafting = each.speculating.drafting
        shares = [f"{value:.2f}" for value in drafting.by_position] + [""] * (positions - len(drafting.by_position))
        lines.append(f"| {each.concurrency} | {drafting.length:.2f} | {' | '.join(shares)} |")
    return "\n".join(lines)


def _rules(found: Measurement) -> Iterator[str]:
    order = found.order
    yield f"{order.prompts} prompts ({order.source}, digest {order.digest}), the same in the same order for both sides."
    yield f"Every request: `{json.dumps(sampling(order.max_tokens))}`. Greedy, and seed {SEED} besides."
    yield (
        f"{WARM_UPS} requests that count for nothing before a side's first repeat at each concurrency, then "
        f"{order.repeats} repeats; a repeat is all prompts once."
    )
    if order.in_place:
        yield "All repeats with speculation first, then all repeats plain."
    else:
        yield "The sides by turns, repeat by repeat: speculating, plain; plain, speculating; and so on."
    yield (
        "Time to first token: from sending a request to its first token. Time per output token: (last - first) / "
        "(tokens - 1). Both are medians over the prompts of a repeat. tokens/s: all completion tokens of a repeat by "
        "its whole time."
    )


def _facts(found: Measurement) -> Iterator[tuple[str, str]]:
    context = found.context
    yield "date", context.at
    yield "model", context.model
    yield "draft", context.draft
    yield "method", f"{context.method}, K {context.tokens}"
    yield "guard", f"mode {context.guard_mode} on the speculating side, Off on the plain side"
    yield "KServe", context.kserve
    sides = (("speculating", context.speculating), ("plain", context.plain))
    for name, read in (("engine", _engine), ("pods", _pods), ("hardware", _hardware)):
        one, other = (read(side) for _, side in sides)
        if one == other:
            yield name, one
        else:
            yield f"{name}, speculating", one
            yield f"{name}, plain", other


def _engine(side: Running) -> str:
    return f"vLLM {side.engine_version}, image {side.image} ({side.image_id or 'the node does not tell its digest'})"


def _pods(side: Running) -> str:
    return f"{side.pods}, each with {_inline(side.resources) or 'no requests and no limits'}"


def _hardware(side: Running) -> str:
    return "; ".join(_node(each) for each in side.nodes)


def _node(node: Node) -> str:
    if not node.readable:
        return "unknown: nodes may not be read with this kubeconfig"
    labels = _inline(node.labels) or "no label tells what kind of machine or processor it is"
    return f"capacity {_inline(node.capacity)}; {labels}; {_inline(node.system)}"


def _side(title: str, side: Running) -> str:
    command = re.sub(" (?='?--)", " \\\\\n  ", " ".join(map(_quoted, side.command)))
    environment = "\n".join(side.environment)
    return f"{title}:\n\n```\n{command}\n```" + (f"\n\nwith\n\n```\n{environment}\n```" if environment else "")


def _quoted(word: str) -> str:
    """A word as a shell takes it."""
    plain = all(each.isalnum() or each in "-_=./:,+@%" for each in word)
    return word if plain and word else "'" + word.replace("'", "'\\''") + "'"


def _inline(values: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{key} {{{_inline(value)}}}" if isinstance(value, Mapping) else f"{key} {value}"
        for key, value in values.items()
    )


def _list(lines: Sequence[str] | Iterator[str]) -> str:
    return "\n".join(f"- {each}" for each in lines)


def _table(rows: Iterator[tuple[str, str]]) -> str:
    return "\n".join(
        ["| | |", "|---|---|", *(f"| {name} | {value.replace('|', chr(92) + '|')} |" for name, value in rows)]
    )
