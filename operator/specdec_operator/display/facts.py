"""The facts about a service, a line for each subject: what it serves, what was decided, what is remembered. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from specdec_operator.api.conditions import is_good
from specdec_operator.display.describe import ago, because, held_since, joined, known_good, per_step, requested, serving
from specdec_operator.display.numbers import number
from specdec_operator.display.untrusted import Untrusted


def facts(service: Untrusted, now: datetime) -> Mapping[str, str]:
    """By heading; a subject about which nothing is known is left out."""
    rows = (*_identity(service), *_decisions(service, now), *_remembered(service, now))
    return {head: text for head, text in rows if text}


def _identity(service: Untrusted) -> Iterator[tuple[str, str]]:
    status, engine, memory = service.of("status"), service.of("spec", "engine"), service.of("status", "memory")
    utilization = memory.of("utilization").number
    share = f"utilization {utilization:.2f}" if utilization is not None else ""
    yield "model", service.of("spec", "model", "uri").text
    yield "requested", requested(service)
    yield "served", serving(service)
    yield "ready", _ready(status)
    yield "pods", _pods(service)
    yield "url", status.of("serving", "url").text
    yield "engine", joined(" ", engine.of("accelerator").text, engine.of("version").text)
    yield "memory", joined("; ", share, memory.of("because").text, memory.of("kvPrice").text)
    yield "device", _device(memory)
    yield "KV cache", joined("; ", _kv_cache(memory), _kv_against_plan(memory), memory.of("recommendation").text)
    yield "KServe", status.of("kserve", "version").text


def _device(memory: Untrusted) -> str:
    """How much one device holds, and the source of this."""
    size, used, source = memory.of("device").number, memory.of("deviceUsed").number, memory.of("deviceSource").text
    taken = f"at most {used / 1024**3:.1f} GiB used" if used else ""
    return joined(", ", f"{size / 1024**3:.1f} GiB" if size else "", taken, source)


def _kv_cache(memory: Untrusted) -> str:
    """What the caches really hold; with both known, what speculation costs of it."""
    ours, baseline = (memory.of(name).number for name in ("kvTokensMeasured", "kvTokensPlainMeasured"))
    if ours is None:
        return "" if baseline is None else f"{baseline:,.0f} tokens without speculation"
    if not baseline:
        return f"{ours:,.0f} tokens"
    return f"{ours:,.0f} tokens, {baseline:,.0f} without speculation: {100 * (ours - baseline) / baseline:+.0f} %"


def _kv_against_plan(memory: Untrusted) -> str:
    """How far that is from the plan, and how much of it was in use."""
    off, used = memory.of("kvTokensDifferencePercent").number, memory.of("kvUsedMost").number
    compared = "" if off is None else f"{off:+.0f} % compared with the plan" if off else "as planned"
    return joined(", ", compared, "" if used is None else f"at most {100 * used:.0f} % in use")


def _pods(service: Untrusted) -> str:
    """How many there are, what sets the number, and how many the same tokens would take without speculation."""
    status, asked = service.of("status"), service.of("spec", "autoscaling")
    there, ready = status.of("replicas").whole, status.of("readyReplicas").whole
    if there is None:
        return ""
    least, most = asked.of("minReplicas").text or "1", asked.of("maxReplicas").text
    between = joined(", ", asked.of("autoscalerClass").text or "hpa", f"{least} to {most}" if most else "")
    counted = f"{ready or 0} of {there} ready" + (f" ({between})" if asked.there else "")
    return joined("; ", counted, status.of("scaling", "message").text)


def _ready(status: Untrusted) -> str:
    ready = next((each for each in conditions(status) if each.type == "Ready"), None)
    if ready is None:
        return ""
    answer = {"True": "yes", "False": "no", "Unknown": "unknown"}.get(ready.status, "")
    if answer == "yes" or ready.message == status.of("message").text:
        return answer
    return joined(": ", answer, ready.why)


def _decisions(service: Untrusted, now: datetime) -> Iterator[tuple[str, str]]:
    guard = service.of("status", "guard")
    rollback, reduced, lowered, would = (guard.of(each) for each in ("rollback", "reduced", "lowered", "would"))
    adapted = guard.of("adapted")
    if rollback.there:
        waits = rollback.of("pending").flag or service.of("status", "phase").text == "Responding"
        yield "rolling back" if waits else "rolled back", because(rollback, now)
    if (dial := guard.of("dial")).there:
        yield "dialled", f"nothing is drafted; {because(dial, now)}"
    if adapted.of("tokensByBatchSize").items:
        dial = service.of("status", "dial")
        follow = f"{dial.of('inForce').whole or 0} of {dial.of('pods').whole or 0} pods follow"
        yield "adapted", joined("; ", follow, because(adapted, now))
    if reduced.there:
        how = " by the dial of the running pods" if reduced.of("dialled").flag else ""
        yield "reduced", f"to {per_step(reduced.of('tokens')) or 'fewer'}{how}; {because(reduced, now)}"
    if lowered.there:
        yield "lowered", because(lowered, now)
    if would.there:
        yield "would", f"{would.of('action').text or 'act'}; {because(would, now)}"
    yield "comparing", _comparing(guard, now)
    yield "costs", ", ".join(f"too much {each}" for each in guard.of("collateral").texts)
    yield "failures", _failures(service, guard)
    yield "regret", _regret(service, guard)
    yield "saved", _saved(guard.of("saved"), now)
    yield "dips", _off_cost(guard.of("offCost"), now)
    mode = service.of("spec", "guard", "mode").text
    yield (
        "guard",
        {"Observe": "Observe: the guard changes nothing", "Off": ("Off: the guard judges nothing")}.get(mode, ""),
    )
    yield "held", held(service, now)


def held(service: Untrusted, now: datetime) -> str:
    """Since when the guard changes nothing, as the annotation or as the operator has it; empty where it is free."""
    return held_since(service, now) or ("yes" if service.of("status", "guard", "held").flag else "")


def _failures(service: Untrusted, guard: Untrusted) -> str:
    count, limit = guard.of("failures").whole, service.of("spec", "guard", "failureLimit").whole
    share, pods = f" of {limit}" if limit else "", ", ".join(guard.of("blamed").texts)
    return joined(", ", f"{count}{share} failing windows in a row", f"pods {pods}" if pods else "") if count else ""


def _comparing(guard: Untrusted, now: datetime) -> str:
    """Baseline pods in addition, or a while without speculation instead."""
    control, trial = guard.of("control"), guard.of("rollback", "trial")
    if trial.there:
        return f"provisional: the baseline is measured, {trial.of('seen').whole or 0} windows so far"
    if not control.there:
        return ""
    up, windows = control.of("up"), len(guard.of("pairs").items)
    stand = f"up {ago(up, now)}, {windows} windows so far" if up.time else "not up yet"
    instead = "instead of speculating pods" if control.of("replaces").flag else "in addition"
    return joined("; ", f"with {control.of('replicas').text} baseline pods {instead}, {stand}", because(control, now))


def _regret(service: Untrusted, guard: Untrusted) -> str:
    lost, budget = guard.of("regret").number or 0.0, service.of("spec", "guard", "regretBudget").number
    share = f" of {budget:g}" if budget else ""
    return f"{lost:.1f}{share} points of acceptance x hours lost" if lost >= 0.05 else ""


def _saved(saved: Untrusted, now: datetime) -> str:
    """The hours of pods that speculation saved or cost, with their interval, of those that were compared."""
    hours, low, high, compared = (saved.of(name).number for name in ("hours", "low", "high", "compared"))
    if hours is None or low is None or high is None or not compared:
        return ""
    ends, word = ((low, high), "") if hours >= 0 else ((-high, -low), "lost ")
    interval = f"95 % interval {ends[0]:.1f} to {ends[1]:.1f}"
    since = f", first {ago(saved.of('since'), now)}" if saved.of("since").time else ""
    return f"{word}{abs(hours):.1f} hours of a pod ({interval}) in {compared:.1f} hours that were compared{since}"


def _off_cost(cost: Untrusted, now: datetime) -> str:
    """What engines that leave their draft out reach of the baseline, and how old that measurement is."""
    if cost.of("ratio").number is None:
        return ""
    share, low, high = (number(cost.of(name)) for name in ("ratio", "low", "high"))
    pods = " and ".join(str(each.whole) for each in cost.of("pods").items if each.whole is not None)
    before = ago(cost.of("baselineAt"), now) if cost.of("baselineAt").time else ""
    measured = joined(" ", "measured", ago(cost.of("at"), now), f"with {pods} pods" if pods else "")
    measured = joined("; ", measured, f"the baseline served {before}" if before else "")
    return f"without its draft an engine reaches {share} of the baseline ({low} to {high}), {measured}"


def _remembered(service: Untrusted, now: datetime) -> Iterator[tuple[str, str]]:
    """What the guard remembers: rollbacks, tries, restarts, what was good."""
    guard = service.of("status", "guard")
    rollbacks, retries, following = guard.of("rollbacks").whole, guard.of("retries").whole, guard.of("nextRetry")
    tries = [f"{rollbacks} so far" if rollbacks else "", f"{retries} retried" if retries else ""]
    upcoming = f"next try {ago(following, now)}, at {following.text}" if following.time else ""
    yield "rollbacks", joined("; ", *tries, upcoming)
    count, restarting = guard.of("restarts").whole, ", ".join(guard.of("restarting").texts)
    restarts = f"{count} so far, of pods far below the other pods" if count else ""
    yield "restarts", joined("; ", restarts, f"now: {restarting}" if restarting else "")
    good = (
        f"{known_good(each)}, first {ago(each.of('at'), now) or 'at a time unknown'}"
        for each in guard.of("lastGood").items
        if each.there
    )
    yield "last good", "\n".join(good)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCondition:
    """One condition. good: whether it is as it should be; None where that is not known."""

    type: str
    status: str
    reason: str
    message: str
    since: Untrusted
    good: bool | None

    @property
    def why(self) -> str:
        """Its reason and message."""
        return joined(": ", self.reason, self.message)


def conditions(status: Untrusted) -> tuple[ShownCondition, ...]:
    """Every condition that has a type, as the status lists them."""
    return tuple(
        ShownCondition(
            type=each.of("type").text,
            status=each.of("status").text,
            reason=each.of("reason").text,
            message=each.of("message").text,
            since=each.of("lastTransitionTime"),
            good=is_good(each.of("type").text, each.of("status").text),
        )
        for each in status.of("conditions").items
        if each.of("type").text
    )
