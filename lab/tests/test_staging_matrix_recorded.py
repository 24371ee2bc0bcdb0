"""The matrix is measured again, on the default version or the one in KSERVE, and compared with the recording."""

import json
from typing import Any

from hack.kserve.versions import chosen

from lab.staging.matrix import asked
from lab.staging.recorded import FILE

Object = dict[str, Any]


def recorded(version: str) -> list[Object]:
    """What the file holds of a version."""
    return [each for each in json.loads(FILE.read_text())["runs"] if each["kserve"] == version]


def without_time(runs: list[Object]) -> list[Object]:
    """Without what differs by the machine."""
    return [{key: value for key, value in each.items() if key != "seconds"} for each in runs]


def test_this_kserve_does_what_was_recorded_of_it() -> None:
    """This compares every mix and every behaviour; `make matrix` records them again."""
    version = chosen().version
    found = without_time(json.loads(json.dumps(asked(version))))
    before = without_time(recorded(version))
    assert [each["rows"] for each in found] == [each["rows"] for each in before]
    assert found == before
