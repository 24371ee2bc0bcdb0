"""What a pod's annotation asks of the dial, read and checked. Pure.

{"tokens": 0, "revision": "7f9c4d", "time": 1764283000.5, "decision": "rollback-3", "holdFor": 3600}

One by load also has "byBatchSize" (schedule.py); a release that does not know it drafts `tokens` at each load.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any, Final

from specdec_runtime.dial.schedule import Rows, rows_of

MOST_BYTES: Final = 4096
"""Bytes of a setting; the rest of a longer file is not read."""
HOLD_FOR: Final = 3600.0
"""Seconds that a setting without `holdFor` holds. It has to be renewed, because the operator may be gone."""
LONGEST_HOLD: Final = 86400.0
_NAME: Final = re.compile(r"[A-Za-z0-9][\w.:/@-]{0,127}", re.ASCII)
_SHOWN: Final = 60
_WAY_OUT: Final = 'write it as {"tokens": 0, "revision": "…", "time": 1764283000, "decision": "…", "holdFor": 3600}'


class SettingRefusedError(ValueError):
    """A setting that is not used; the message is the sentence to show."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """tokens: to draft in each step, 0 is off. revision: of the pods that it is meant for. time: when it was made, in
    seconds since 1970. decision: whose it is. hold_for: seconds that it holds. rows: tokens by load, none of them more
    than `tokens`; empty: the same at each load.
    """

    tokens: int
    revision: str
    time: float
    decision: str
    hold_for: float = HOLD_FOR
    rows: Rows = ()

    @property
    def end(self) -> float:
        """When it runs out, by the clock of its maker."""
        return self.time + self.hold_for


def parse(text: bytes) -> Setting:
    """Return a setting. Keys that are not known are left for later releases. Raises SettingRefusedError."""
    if len(text) > MOST_BYTES:
        raise SettingRefusedError(f"the setting has more than {MOST_BYTES} bytes; {_WAY_OUT}")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SettingRefusedError(f"the setting is not JSON ({_short(str(error))}); {_WAY_OUT}") from error
    if not isinstance(found, dict):
        raise SettingRefusedError(f"the setting is a JSON {type(found).__name__}, not an object; {_WAY_OUT}")
    return Setting(
        tokens=_tokens(found),
        revision=_name(found, "revision"),
        time=_number(found, "time", math.inf),
        decision=_name(found, "decision"),
        hold_for=_number(found, "holdFor", LONGEST_HOLD) if "holdFor" in found else HOLD_FOR,
        rows=_rows(found) if "byBatchSize" in found else (),
    )


def _tokens(found: dict[str, Any]) -> int:
    value = found.get("tokens")
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise _refused("tokens", value, "a whole number of at least 0, where 0 is off")
    return value


def _rows(found: dict[str, Any]) -> Rows:
    try:
        return rows_of(found["byBatchSize"], _tokens(found))
    except ValueError as error:
        given = _short(repr(found["byBatchSize"]))
        raise SettingRefusedError(f"byBatchSize of the setting is {given}: {error}") from error


def _name(found: dict[str, Any], key: str) -> str:
    value = found.get(key)
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise _refused(key, value, "a name of at most 128 letters, digits and ._:/@-")
    return value


def _number(found: dict[str, Any], key: str, most: float) -> float:
    value = found.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= most or value > 1e12:
        bound = "" if math.isinf(most) else f" and at most {most:.0f}"
        raise _refused(key, value, f"a number of seconds above 0{bound}")
    return float(value)


def _refused(key: str, value: object, rule: str) -> SettingRefusedError:
    return SettingRefusedError(f"{key} of the setting is {_short(repr(value))}: it must be {rule}; {_WAY_OUT}")


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
