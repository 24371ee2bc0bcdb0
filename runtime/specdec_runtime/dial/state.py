"""What is in force in one engine, since when, why and until when. Pure: what happened is passed in, with the time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from specdec_runtime.dial import schedule
from specdec_runtime.dial.setting import Setting, SettingRefusedError, parse

CLOCKS: Final = 300.0
"""Seconds that the clocks of two machines may differ."""
FLAGS: Final = "as the engine was started"


@dataclass(frozen=True, kw_only=True, slots=True)
class DialledPod:
    """The engine that has the dial. started: the tokens that its flags ask for. revision: of its pod."""

    started: int
    revision: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Now:
    """One moment. wall: seconds since 1970. steady: seconds by a clock that does not jump."""

    wall: float
    steady: float


@dataclass(frozen=True, kw_only=True, slots=True)
class RefusedSetting:
    """The last setting that was not used. at: when, in seconds since 1970."""

    at: float
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class DialState:
    """tokens: what the next step drafts, at most where rows set it by load. since: in seconds since 1970. setting: what
    asked for it; None: the flags.

    until: when the setting runs out, by the steady clock. newest: the time of the newest setting that was ever in
    force, so that no older one comes back.
    """

    tokens: int
    since: float
    why: str = FLAGS
    setting: Setting | None = None
    until: float | None = None
    newest: float = 0.0
    refused: RefusedSetting | None = None

    @property
    def rows(self) -> schedule.Rows:
        """The tokens by load; empty: the same at each load."""
        return self.setting.rows if self.setting else ()


def begin(pod: DialledPod, now: Now) -> DialState:
    """Return the state of an engine that has started."""
    return DialState(tokens=pod.started, since=now.wall)


def read(state: DialState, pod: DialledPod, text: bytes, now: Now) -> DialState:
    """Return the state after the annotation changed to a text. A setting that is refused changes nothing in force."""
    if not text.strip():
        return state if state.setting is None else _flags(state, pod, now, "the setting was removed")
    try:
        setting = parse(text)
        if setting == state.setting:
            return state
        _fits(setting, state, pod, now)
    except SettingRefusedError as error:
        return replace(state, refused=RefusedSetting(at=now.wall, why=str(error)))
    return _set(state, setting, now)


def expire(state: DialState, pod: DialledPod, now: Now) -> DialState:
    """Return the state after some time: a setting that was not renewed no longer holds."""
    if state.setting is None or state.until is None or now.steady < state.until:
        return state
    why = f"setting {state.setting.decision} ran out after {state.setting.hold_for:.0f} s without renewal"
    return _flags(state, pod, now, why)


def shown(state: DialState, pod: DialledPod, now: Now) -> dict[str, object]:
    """Return what GET /specdec/dial answers."""
    answer: dict[str, object] = {
        "offered": True,
        "tokens": state.tokens,
        "started": pod.started,
        "values": list(range(pod.started + 1)),
        "revision": pod.revision,
        "since": round(state.since, 3),
        "why": state.why,
    }
    if state.rows:
        answer["byBatchSize"] = schedule.shown(state.rows)
    if state.setting is not None and state.until is not None:
        answer |= {"decision": state.setting.decision, "time": state.setting.time}
        answer["until"] = round(now.wall + state.until - now.steady, 3)
    if state.refused is not None:
        answer["refused"] = {"at": round(state.refused.at, 3), "why": state.refused.why}
    return answer


def _fits(setting: Setting, state: DialState, pod: DialledPod, now: Now) -> None:
    """Raise SettingRefusedError if a setting is not for this pod, or not for now."""
    if setting.revision != pod.revision:
        raise SettingRefusedError(
            f"revision of the setting is {setting.revision}, and this pod is of {pod.revision}: each needs its own"
        )
    if setting.tokens > pod.started:
        raise SettingRefusedError(
            f"tokens of the setting is {setting.tokens}, above the {pod.started} that the engine was started with: the "
            "dial only lowers; change speculation.tokens for more"
        )
    if setting.time > now.wall + CLOCKS:
        raise SettingRefusedError(
            f"the setting is {setting.time - now.wall:.0f} s ahead of this node's clock, more than {CLOCKS:.0f} s: "
            "synchronise the clocks"
        )
    if setting.end <= now.wall:
        raise SettingRefusedError(
            f"the setting ran out {now.wall - setting.end:.0f} s ago: renew it with the present time"
        )
    if setting.time <= state.newest:
        raise SettingRefusedError(
            f"the setting is of {setting.time:.3f}, and one of {state.newest:.3f} was in force: use the present time"
        )


def _set(state: DialState, setting: Setting, now: Now) -> DialState:
    left = min(setting.hold_for, setting.end - now.wall)
    return replace(
        state,
        tokens=setting.tokens,
        since=state.since if (setting.tokens, setting.rows) == (state.tokens, state.rows) else now.wall,
        why=f"setting {setting.decision}",
        setting=setting,
        until=now.steady + left,
        newest=setting.time,
    )


def _flags(state: DialState, pod: DialledPod, now: Now, why: str) -> DialState:
    since = state.since if state.tokens == pod.started and not state.rows else now.wall
    return replace(state, tokens=pod.started, since=since, why=f"{FLAGS}: {why}", setting=None, until=None)
