"""The dial: how many tokens the running engines draft, changed in a second and without a rollout. Pure.

A request becomes a setting in an annotation of each pod, which the pod's runtime reads from a file (docs/dial.md). What
the pods answer is in force.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from specdec_operator.api.times import from_time, is_moment, to_time
from specdec_operator.guard.rows import Rows, as_setting

HOLD_FOR: Final = 3600.0
"""Seconds that a pod keeps a setting that is not renewed. Then it drafts as its flags define: the operator may be gone
for long, and its setting would stay.
"""
_RENEW: Final = HOLD_FOR / 2
_OURS: Final = "operator/"
"""What the decision of each of the operator's settings begins with. Any other is of another client that may patch
pods: it stays, and the pod is judged as what it drafts.
"""
BY_HAND: Final = "Requested"
_BY_HAND: Final = re.compile(
    r"(?P<tokens>off|\d{1,4})(?: until (?P<until>\S{1,40}))?(?: (?P<why>.{0,200}))?", re.DOTALL
)
_WAY_OUT: Final = "write `off`, or the number of tokens, and perhaps `until 2026-01-31T12:00:00Z` behind it"
_MOST_WORDS: Final = 200
_MOST_ROWS: Final = 2000
"""Characters of the rows of a setting that are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DialRequest:
    """tokens: to draft in each step; 0 is off. reason, message: why, in one word and in one sentence. until: epoch
    seconds; None: without end. rest: of a probe: what is drafted before and after it; None: of another request. rows:
    by load, none of more than `tokens`; empty: the same at each load.
    """

    tokens: int
    reason: str
    message: str
    until: float | None = None
    rest: int | None = None
    rows: Rows = ()

    @property
    def by_hand(self) -> bool:
        """Whether a user set it."""
        return self.reason == BY_HAND

    @property
    def lasting(self) -> int:
        """What is drafted outside of probes."""
        return self.tokens if self.rest is None else self.rest

    @property
    def decision(self) -> str:
        """The decision that each setting names, so that a page of a pod shows whose it is."""
        return f"{_OURS}{self.reason}-{self.tokens}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DialAnswer:
    """What a pod answers. offered: whether it has a dial; why: why it has none, or why it drafts as it does.

    tokens: what its next step drafts, at most where it depends on the load: by_load has its rows then, as the pod shows
    them. started: what its flags ask for. refused: why the last setting was not used.
    """

    offered: bool
    why: str
    tokens: int = 0
    started: int = 0
    refused: str = ""
    by_load: str = ""


NO_ANSWER: Final = DialAnswer(offered=False, why="the pod does not answer at /specdec/dial")


@dataclass(frozen=True, slots=True, kw_only=True)
class DialView:
    """The dials of a service. request: None where none is set. refused: why the annotation cannot be followed.

    pods: names of the ready pods. answers: of those that answered. denied: why a pod could not be given its setting.
    """

    request: DialRequest | None = None
    refused: str = ""
    pods: tuple[str, ...] = ()
    answers: Mapping[str, DialAnswer] = field(default_factory=dict)
    denied: str = ""

    @property
    def in_force(self) -> int:
        """Pods that draft as asked for."""
        return sum(self.follows(pod) for pod in self.pods)

    @property
    def settled(self) -> bool:
        """Whether every pod drafts as asked for."""
        return self.in_force == len(self.pods)

    @property
    def drafted(self) -> int | None:
        """What all pods answer that they draft, outside of probes; None if they differ, if one does not answer that, or
        if it depends on the load.
        """
        said = {self._drafted(pod) for pod in self.pods}
        return said.pop() if len(said) == 1 else None

    @property
    def trouble(self) -> str:
        """Why some pods do not draft as asked for, by the first of them; empty if all do."""
        if self.refused or self.denied:
            return self.refused or self.denied
        others = [pod for pod in self.pods if not self.follows(pod)]
        if not others:
            return ""
        answer = self.answers.get(others[0], NO_ANSWER)
        return f"pod {others[0]}: {answer.refused or answer.why}"

    def follows(self, pod: str) -> bool:
        """Whether a pod drafts as asked for."""
        answer, asked = self.answers.get(pod), self.request
        if asked is None or answer is None or not answer.offered:
            return False
        # A probe begins and ends a moment later in each pod.
        return answer.tokens in (asked.tokens, asked.lasting) and answer.by_load == _by_load(as_setting(asked.rows))

    def _drafted(self, pod: str) -> int | None:
        answer = self.answers.get(pod, NO_ANSWER)
        if answer.by_load:
            return None
        if self.request is not None and self.follows(pod):
            return self.request.lasting
        return answer.tokens if answer.offered else None


def by_hand(text: str | None, started: int, now: float) -> tuple[DialRequest | None, str]:
    """What a user's annotation asks for, and why it cannot be followed. started: K of the pods; 0: not known."""
    if not text:
        return None, ""
    found = _BY_HAND.fullmatch(text.strip())
    if found is None:
        return None, f"specdec.io/dial: {text[:_MOST_WORDS]!r} is not a setting of the dial: {_WAY_OUT}"
    tokens = 0 if found["tokens"] == "off" else int(found["tokens"])
    if started and tokens > started:
        return None, (
            f"specdec.io/dial: {tokens} is more than the {started} tokens that the engines were started with: the dial "
            "only lowers; change speculation.tokens for more"
        )
    until = from_time(found["until"]) if found["until"] and is_moment(found["until"]) else None
    if until is None and found["until"]:
        return None, f"specdec.io/dial: {found['until']!r} is not a time: {_WAY_OUT}"
    if until is not None and now >= until:
        return None, ""
    why = f": {found['why']}" if found["why"] else ""
    ends = f" until {to_time(until)}" if until else ""
    message = f"requested by annotation specdec.io/dial: {tokens or 'no'} draft tokens{ends}{why}"
    return DialRequest(tokens=tokens, reason=BY_HAND, message=message, until=until), ""


PROBED: Final = 0.02
"""Share of the time with the dial at nothing in which it probes."""
_LONGEST_CYCLE: Final = 150.0
_CYCLES: Final = 4
"""Probes until a rollback is due, at least: two of them must fail."""


def probe(at: float, settle: float, now: float) -> tuple[bool, float]:
    """Whether the pods draft for a moment now, and when that changes, epoch seconds. at: since when the dial is at
    nothing; settle: seconds until it is decided about.

    The probe is the end of each cycle, so that the dial is followed before the first one.
    """
    cycle = _cycle(settle)
    begun = at + math.floor((now - at) / cycle) * cycle
    probes_at = begun + cycle * (1 - PROBED)
    return (True, begun + cycle) if now >= probes_at else (False, probes_at)


def probes_begun(at: float, settle: float, now: float) -> int:
    """How many probes have begun, the present one included."""
    return math.floor((now - at) / _cycle(settle) + PROBED)


def _cycle(settle: float) -> float:
    return min(_LONGEST_CYCLE, settle / _CYCLES)


def by_guard(at: float, reason: str, message: str, started: int, settle: float, now: float) -> DialRequest:
    """What the guard asks for since it set the dial to nothing. started: K of the pods; 0: not known, so no probe."""
    probes = bool(started) and probe(at, settle, now)[0]
    return DialRequest(
        tokens=started if probes else 0, reason=reason, message=f"{reason}: {message}", rest=0 if probes else None
    )


def setting(request: DialRequest, revision: str, now: float) -> str:
    """A pod's annotation for a request. Its keys are those of specdec_runtime/dial/setting.py."""
    hold = HOLD_FOR if request.until is None else min(HOLD_FOR, max(1.0, request.until - now))
    asked: dict[str, Any] = {"tokens": request.tokens, "revision": revision, "time": round(now, 3)}
    asked |= {"byBatchSize": as_setting(request.rows)} if request.rows else {}
    return json.dumps({**asked, "decision": request.decision, "holdFor": math.ceil(hold)})


def due_settings(request: DialRequest | None, pods: Mapping[str, tuple[str, str]], now: float) -> dict[str, str | None]:
    """The annotation that each of these pods has to get; None: it has to lose it. pods: revision of each, and the
    annotation that it has.

    Level-triggered: an annotation that another client changed, or that was lost, is written again. A setting is renewed
    after half of its time.
    """
    if request is None:
        return dict.fromkeys(pod for pod, (_, has) in pods.items() if is_ours(has))
    return {
        pod: setting(request, revision, now)
        for pod, (revision, has) in pods.items()
        if not _holds(_read(has), request, revision, now)
    }


def is_ours(text: str) -> bool:
    """Whether a pod's annotation is a setting of the operator."""
    return str(_read(text).get("decision", "")).startswith(_OURS)


def _read(text: str) -> Mapping[str, Any]:
    """A setting; empty for another text."""
    try:
        found = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _holds(found: Mapping[str, Any], request: DialRequest, revision: str, now: float) -> bool:
    """Whether a setting asks for this, and for long enough."""
    asked = (request.tokens, revision, request.decision)
    if (found.get("tokens"), found.get("revision"), found.get("decision")) != asked:
        return False
    if found.get("byBatchSize", []) != as_setting(request.rows):
        return False
    at = found.get("time")
    if not isinstance(at, int | float) or isinstance(at, bool) or at > now:
        return False
    return now - at < _RENEW or (request.until is not None and request.until - at <= HOLD_FOR)


def answer_of(page: bytes | None) -> DialAnswer:
    """What a pod's page shows. What cannot be read is an answer that it has no dial."""
    found = _read((page or b"").decode(errors="replace"))
    if not isinstance(found.get("offered"), bool):
        return NO_ANSWER
    why, refused = str(found.get("why", ""))[:_MOST_WORDS], found.get("refused")
    tokens, started = (_count(found.get(name)) for name in ("tokens", "started"))
    if not found["offered"] or tokens is None or started is None:
        return DialAnswer(offered=False, why=why or NO_ANSWER.why)
    words = str(refused.get("why", ""))[:_MOST_WORDS] if isinstance(refused, dict) else ""
    by_load = _by_load(found.get("byBatchSize"))
    return DialAnswer(offered=True, why=why, tokens=tokens, started=started, refused=words, by_load=by_load)


def _by_load(rows: object) -> str:
    """Rows as text that can be compared; empty without any."""
    return json.dumps(rows, sort_keys=True)[:_MOST_ROWS] if rows else ""


def _count(value: object) -> int | None:
    good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10_000
    return value if good and isinstance(value, int) else None


def changed(before: DialRequest | None, after: DialRequest | None) -> bool:
    """Whether other tokens are drafted from here on, apart from a probe: a window must not have both."""
    return (before and (before.lasting, before.rows)) != (after and (after.lasting, after.rows))
