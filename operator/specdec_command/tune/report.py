"""A tuning as a table for the terminal, and as JSON with every round."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from specdec_command.measure.report import repeat_document, with_properties
from specdec_command.measure.statistics import Quartiles
from specdec_command.measure.table import times
from specdec_command.tune.order import Limits
from specdec_command.tune.patch import patch_of, problems_of
from specdec_command.tune.tuning import TriedTokens, TunedLoad, Tuning

_VERSION: Final = 1


def change_of(tuning: Tuning) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What to change in the spec, and why the engine would not take it: then it is not to be applied."""
    patch = patch_of(tuning.loads, tuning.context.requested, tuning.context.running.pods)
    return patch, tuple(problems_of(tuning.service, patch))


def conclusions_of(tuning: Tuning) -> Iterator[str]:
    """The best number at each load, and what to change."""
    for each in tuning.loads:
        yield f"With {each.load.words}: {each.tokens or 'no'} draft tokens: {each.why}."
    patch, problems = change_of(tuning)
    within = " within the limits" if tuning.order.limits != Limits() else ""
    if not patch:
        yield f"Nothing to change: {tuning.context.requested} draft tokens at each load."
    elif patch["spec"]["speculation"] is None:
        yield f"Drafting pays at no load{within}: patch.yaml takes it out, which also frees the draft's memory."
    elif problems:
        yield f"No patch, because this engine would not use it: {'; '.join(problems)}."
        yield "guard.tokens: Adapt sets the numbers by the dial, as this run did."
    else:
        name = f"{tuning.context.name} -n {tuning.context.namespace}"
        yield f"To apply it: kubectl patch sis {name} --type merge --patch-file patch.yaml. It replaces the pods."


def notes_of(tuning: Tuning) -> Iterator[str]:
    """What a reader has to know before believing the numbers."""
    yield (
        "Without draft tokens these engines still hold the draft, so a service without speculation is faster than the "
        "row with 0: `specdec measure` compares with one."
    )
    yield (
        "Some engines run the draft on while the dial is turned down (docs/runtime.md, The dial): with fewer tokens in "
        "the flags they are faster than shown."
    )
    if tuning.has_strangers:
        yield "Other clients sent requests too, so more requests ran at once than each row shows."
    if tuning.context.method == "suffix":
        yield "Suffix decoding remembers the answers of earlier rounds, so later ones accept more."
    for load in tuning.loads:
        silent = [each.tokens for each in load.tried if each.tokens and not each.figures.drafting.drafted]
        if silent:
            yield f"With {load.load.words} the engine drafted nothing at {', '.join(map(str, silent))} draft tokens."
    if tuning.order.sampling.greedy:
        unequal = [each.equal for load in tuning.loads for each in load.tried if each.equal]
        if (same := sum(each.same for each in unequal)) < (of := sum(each.of for each in unequal)):
            yield f"{same} of {of} greedy answers equal those with {tuning.context.requested} draft tokens."
    if tuning.context.running.pods > 1:
        yield f"{tuning.context.running.pods} pods share the requests of each row; the patch counts those of one pod."
    yield "Requests went through the API server's proxy, whose time moves the ratios towards 1."
    yield from (f"Discarded and repeated: {each}." for each in tuning.redone)


def render(tuning: Tuning) -> RenderableType:
    """The figures, what follows from them, and what to know before believing them."""
    conclusions = [Text(each, "bold") for each in conclusions_of(tuning)]
    return Group(
        _figures(tuning), Text(), *conclusions, Text(), *(Text(f"- {each}", "dim") for each in notes_of(tuning))
    )


def _figures(tuning: Tuning) -> Table:
    context = tuning.context
    title = (
        f"{context.namespace}/{context.name}: {context.method}, K {context.requested}, prompts {tuning.order.source}"
    )
    table = Table(title=title, title_justify="left")
    for name in ("requests", "draft tokens", "tokens/s", "ms per token", "ms to first", "acceptance", "speed"):
        table.add_column(name, justify="right")
    for load in tuning.loads:
        for index, each in enumerate(load.tried):
            table.add_row(load.load.label if index == 0 else "", *_row(each, load), style=_style(each, load))
        table.add_section()
    return table


def _style(tried: TriedTokens, load: TunedLoad) -> str:
    return "bold" if tried.tokens == load.tokens else ""


def _row(tried: TriedTokens, load: TunedLoad) -> Iterator[str]:
    """The figures of one number. The chosen one has a star."""
    found = tried.figures
    limited = "" if tried.within_limits else " beyond limits"
    yield f"{tried.tokens}{limited}{' *' if tried.tokens == load.tokens else ''}"
    yield _median(found.tokens_per_second, 1)
    yield _median(found.per_token, 2, 1000)
    yield _median(found.first_token, 1, 1000)
    yield _median(found.acceptance, 2)
    yield times(tried.speed) if tried.speed else "1"


def _median(value: Quartiles | None, digits: int, scale: float = 1) -> str:
    """Without its quartiles, which are in the proof: seven columns have to fit."""
    return "-" if value is None else f"{scale * value.median:.{digits}f}"


def document(tuning: Tuning) -> dict[str, Any]:
    """Everything. Times in seconds, shares from 0 to 1, ratios above 1 where a number is faster than the requested."""
    context, (patch, problems) = asdict(tuning.context), change_of(tuning)
    del context["running"]["node_names"]
    return {
        "version": _VERSION,
        "order": asdict(tuning.order),
        "request": tuning.order.request,
        "context": context,
        "patch": patch,
        "problems": list(problems),
        "notes": list(notes_of(tuning)),
        "loads": [with_properties(each) for each in tuning.loads],
        "rounds": [
            {"concurrency": each.turn.load.concurrency, "repeat": each.turn.repeat, "tokens": each.turn.tokens}
            | {"round": each.turn.number}
            | repeat_document(each)
            for each in tuning.repeats
        ],
    }
