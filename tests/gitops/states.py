"""A sis in each state that GitOps tools meet, its status by the operator's own code, and what each tool must show."""

import pathlib
from dataclasses import dataclass, replace
from typing import Any, Final

import yaml

from specdec_operator.api.guard import GuardMode
from specdec_operator.errors import Invalid
from specdec_operator.guard.state import Phase, State
from specdec_operator.names import FINALIZER, GROUP, HOLD_ANNOTATION, PLURAL
from specdec_operator.observe.ownership import Claimant, look_at, name_taken
from specdec_operator.observe.rollout import Progress
from specdec_operator.report.status import SpecRefusal, refused_status, status_of
from tests.unit.builders import (
    BLOCKED,
    FAILED,
    IDLE,
    LOW,
    PROGRESSING,
    Body,
    found,
    judged,
    make_dry_run,
    make_evidence,
    make_good,
    make_reduction,
    make_rollback,
    make_sis,
    make_state,
    policy,
    view,
)

_ROOT: Final = pathlib.Path(__file__).parents[2]
HELD: Final = {HOLD_ANNOTATION: "2026-11-21T12:00:00Z"}
FIRST: Final = replace(PROGRESSING, serving=0, message="0 of 1 pods of revision r1 are ready")
"""The first pods of a service: nothing answers yet."""
GONE: Final = view(Progress.PROGRESSING, "RollingOut", message="0 of 1 pods of revision r1 are ready", serving=0)
"""Pods that served and do not now."""
BY_USER: Final = make_rollback("Requested", message="requested by annotation specdec.io/rollback=x")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One state. flux, strict: kstatus' word, and that of the stricter expressions; argo: Argo CD's; acts: its actions.

    words: the state in a few words, for the table in docs/gitops.md.
    """

    words: str
    body: Body
    flux: str
    argo: str
    strict: str
    acts: frozenset[str]


def _case(
    words: str, state: State, flux: str, *, argo: str = "", strict: str = "", acts: str = "rollback", **changes: Any
) -> Case:
    guard = changes.pop("guard", {})
    annotations = changes.pop("annotations", None)
    spec = changes.pop("spec", {}) | {"guard": guard}
    status = status_of(found(state, spec=spec, **changes), {}, 60.0)
    body = make_sis(annotations=annotations, status=status, **spec)
    return _judged(words, body, flux, argo=argo, strict=strict, acts=acts)


def _judged(words: str, body: Body, flux: str, *, argo: str = "", strict: str = "", acts: str = "rollback") -> Case:
    """A case; verdicts that are not given follow from kstatus."""
    body["metadata"]["finalizers"] = [FINALIZER]
    hold = "release" if HOLD_ANNOTATION in body["metadata"].get("annotations", {}) else "hold"
    known = {"InProgress": "Progressing", "Terminating": "Progressing", "Current": "Healthy", "Failed": "Degraded"}
    offered = frozenset(acts.split()) | ({hold} if acts != "none" else frozenset()) - {"none"}
    return Case(
        words=words, body=body, flux=flux, argo=argo or known[flux], strict=strict or flux, acts=offered - {"none"}
    )


def _new() -> Body:
    """A sis that no operator has read yet, as the API server returns it: with the CRD's default of its status."""
    text = (_ROOT / "crds" / f"{GROUP}_{PLURAL}.yaml").read_text()
    (version,) = yaml.safe_load(text)["spec"]["versions"]
    status = version["schema"]["openAPIV3Schema"]["properties"]["status"].get("default")
    body = make_sis(status=status)
    return body if status else {key: part for key, part in body.items() if key != "status"}


def _invalid(before: Body, generation: int) -> Body:
    error = Invalid("spec.speculation.tokens", 40, "at most 8 with this head: ask for fewer")
    trouble = SpecRefusal(error=error, generation=generation)
    return make_sis(generation=generation, status=refused_status(before, trouble, now=90.0))


def _taken() -> Body:
    claimant = Claimant(uid="u-1")
    error = name_taken("InferenceService", "llama", look_at({"metadata": {"uid": "another"}}, claimant), claimant)
    assert error is not None
    return make_sis(status=refused_status({}, SpecRefusal(error=error, generation=1), now=90.0, ready=False))


def _ahead() -> Body:
    return make_sis(generation=2, status=status_of(found(WATCHING, judged=judged()), {}, 60.0))


def _deleted() -> Body:
    body = make_sis(status=status_of(found(WATCHING, judged=judged()), {}, 60.0))
    body["metadata"]["deletionTimestamp"] = "2026-11-21T12:00:00Z"
    return body


WATCHING: Final = make_state()
REDUCED: Final = make_state(reduced=make_reduction())
ROLLED_BACK: Final = make_state(Phase.ROLLED_BACK, rollback=make_rollback(), rollbacks=1)
RESPONDING: Final = make_state(Phase.RESPONDING, rollback=make_rollback(), wanted="r2", rollbacks=1)
STARVED: Final = replace(RESPONDING, replacing="r1")
STALLED: Final = make_state(Phase.STALLED)
DEGRADED: Final[Body] = {"health": "Degraded"}
OBSERVE: Final = policy(mode=GuardMode.OBSERVE)


def _quiet() -> list[Case]:
    low, idle = judged(LOW, make_evidence(rate=0.02)), judged(IDLE, make_evidence(0))
    dry_run = make_state(dry_run=make_dry_run())
    observed: Body = {"policy": OBSERVE, "guard": {"mode": "Observe"}}
    held: Body = {"policy": policy(held=True), "annotations": HELD}
    return [
        _case("warms up", make_state(Phase.WARMING_UP), "Current"),
        _case("watched, windows pass", WATCHING, "Current", judged=judged()),
        _case("watched, a window failed", make_state(failures=1), "Current", judged=low),
        _case("watched, no traffic", WATCHING, "Current", judged=idle),
        _case("`mode: Observe`, it would roll back", dry_run, "Current", judged=low, **observed),
        _case("held, it would roll back", dry_run, "Current", judged=low, **held),
        _case("watched, with fewer tokens", REDUCED, "Current", judged=judged(), acts="rollback retry"),
        _case("serving, the guard is off", make_state(Phase.SERVING), "Current", guard={"mode": "Off"}),
        _case("serving, no speculation", make_state(Phase.SERVING), "Current", spec={"speculation": None}, acts=""),
        _case("watched, no pod answers now", WATCHING, "InProgress", rollout=GONE),
    ]


def _moving() -> list[Case]:
    first = make_state(Phase.ROLLING_OUT, revision=None)
    measuring = make_state(Phase.MEASURING_BASELINE, measuring=True, attempted=True)
    tokens = make_state(Phase.RESPONDING, reduced=make_reduction(), wanted="r2")
    changed = make_state(Phase.ROLLING_OUT, wanted="r2")
    both: Body = {"rollout": PROGRESSING, "acts": "rollback retry"}
    strict = "InProgress"
    return [
        _case("first pods start", first, "InProgress", rollout=FIRST),
        _case("new pods start, the old ones serve", changed, "InProgress", rollout=PROGRESSING),
        _case("the baseline is measured first", measuring, "InProgress"),
        _case("fewer tokens are rolled out", tokens, "InProgress", **both),
        _case("rolls back", RESPONDING, "InProgress", strict=strict, **both),
        _case("rolls back, `health: Degraded`", RESPONDING, "InProgress", guard=DEGRADED, **both),
        _case("rolls back, no room next to the old pods", STARVED, "InProgress", **both),
    ]


def _ended() -> list[Case]:
    good = make_state(rollback=make_rollback(good=make_good()), rollbacks=1)
    asked = replace(ROLLED_BACK, rollback=BY_USER)
    back: Body = {"strict": "Failed", "acts": "rollback retry"}
    moves = replace(PROGRESSING, message="0 of 1 pods of revision r3 are ready")
    return [
        _case("rolled back, to the baseline", ROLLED_BACK, "Current", **back),
        _case("rolled back, `health: Degraded`", ROLLED_BACK, "Failed", guard=DEGRADED, **back),
        _case("rolled back, held", ROLLED_BACK, "Current", policy=policy(held=True), annotations=HELD, **back),
        _case("rolled back, to the last good speculation", good, "Current", judged=judged(), **back),
        _case("rolled back, by the user", asked, "Current", strict="Failed", acts="retry"),
        _case("rolled back, other baseline pods start", ROLLED_BACK, "InProgress", rollout=moves, acts=back["acts"]),
        _case("stalled: crashes", STALLED, "Failed", rollout=FAILED),
        _case("stalled: KServe makes no Deployment", STALLED, "Failed", rollout=BLOCKED),
    ]


def _edges() -> list[Case]:
    served = status_of(found(WATCHING, judged=judged()), {}, 60.0)
    return [
        _judged("new: not reconciled yet", _new(), "InProgress", acts=""),
        _judged("spec refused, nothing serves", _invalid({}, 1), "Failed", acts=""),
        _judged("a name is taken", _taken(), "Failed", acts=""),
        _judged("spec refused, the old pods serve", _invalid(served, 2), "Failed"),
        _judged("changed, not reconciled yet", _ahead(), "InProgress"),
        _judged("being deleted", _deleted(), "Terminating", strict="Current", acts="none"),
    ]


CASES: Final[tuple[Case, ...]] = (*_edges()[:1], *_moving(), *_quiet(), *_ended(), *_edges()[1:])
"""All of them, in the order of the table."""
