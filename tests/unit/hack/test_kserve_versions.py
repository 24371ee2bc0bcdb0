"""hack.kserve: which KServe is run, and the error if it cannot be fetched or built."""

import pathlib

import pytest
from hack.cluster.errors import ClusterError
from hack.cluster.versions import KSERVE
from hack.kserve.versions import KServeChoice, chosen


@pytest.fixture
def manager(tmp_path: pathlib.Path) -> pathlib.Path:
    found = tmp_path / "manager"
    found.touch(mode=0o755)
    return found


@pytest.mark.parametrize("asked", [{}, {"KSERVE": ""}, {"KSERVE": KSERVE}, {"KSERVE": f"v{KSERVE}"}], ids=str)
def test_the_pinned_version_runs_unless_another_is_named(asked: dict[str, str]) -> None:
    assert chosen(asked) == KServeChoice(version=KSERVE)
    assert chosen(asked).name == KSERVE


@pytest.mark.parametrize("version", ["0.18.0", "0.21.0", "latest", "0.20", "v", "../0.20.0"])
def test_another_version_is_refused_with_those_that_can_be_had_and_the_way_out(version: str) -> None:
    with pytest.raises(ClusterError) as failure:
        chosen({"KSERVE": version})
    words = str(failure.value)
    assert words.startswith(f"KSERVE={version}: ")
    assert "0.16.0, 0.17.0, 0.19.0, 0.20.0" in words
    assert "KSERVE_MANAGER" in words
    assert "KSERVE_CONFIG" in words


def test_a_users_own_controller_is_run_on_the_manifests_of_a_version(manager: pathlib.Path) -> None:
    choice = chosen({"KSERVE": "0.19.0", "KSERVE_MANAGER": str(manager)})
    assert choice == KServeChoice(version="0.19.0", manager=manager)
    assert choice.name == f"{manager}, with the manifests of 0.19.0"


@pytest.mark.parametrize(
    ("name", "what"),
    [("KSERVE_MANAGER", "an executable file"), ("KSERVE_CONFIG", "the folder `config` of KServe's source")],
)
def test_a_setting_that_points_nowhere_is_refused(tmp_path: pathlib.Path, name: str, what: str) -> None:
    for place in (tmp_path / "absent", tmp_path):
        with pytest.raises(ClusterError, match=rf"{name}={place} must be {what}; unset it"):
            chosen({name: str(place)})
