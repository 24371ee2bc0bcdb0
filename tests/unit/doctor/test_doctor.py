"""`specdec doctor`: everything that it can find is found where it is, and nothing in a cluster that is well."""

import pytest
from tests.unit.doctor.doctor_cases import CASES, GAP, IMAGE, QUIET, both, put
from tests.unit.doctor.snapshots import BROKEN, DENIED, Change, snapshot

from specdec_command.doctor.examine import examine
from specdec_command.doctor.finding import KINDS, Area, DoctorSeverity, finding


def test_a_cluster_that_is_well_is_left_alone() -> None:
    found = examine(snapshot())
    assert found.findings == ()
    assert {found.state(each) for each in Area} == {"fine"}


@pytest.mark.parametrize(("kind", "change", "words"), CASES, ids=[f"{n}-{each[0]}" for n, each in enumerate(CASES)])
def test_each_fault_is_found_alone_and_shown_with_its_fix(kind: str, change: Change, words: tuple[str, ...]) -> None:
    """One fault, one kind of finding: what is wrong, why it matters, how to fix it."""
    found = examine(snapshot(change))
    assert {each.kind.id for each in found.findings} == {kind}
    for each in words:
        assert each in found.findings[0].sentence
    assert found.findings[0].fix
    assert found.state(found.findings[0].area) == found.findings[0].kind.severity.value


@pytest.mark.parametrize("change", QUIET.values(), ids=QUIET.keys())
def test_a_false_alarm_is_not_reported(change: Change) -> None:
    """Users would stop reading the findings."""
    assert [each.sentence for each in examine(snapshot(change)).findings] == []


def test_a_version_with_gaps_shows_each_of_them() -> None:
    """As in the rules of staging, with what would close them."""
    found = examine(snapshot(GAP)).findings
    assert {each.kind.id for each in found} == {"KServeGap"}
    assert len(found) > 2
    assert any("issue 4819" in each.what and "KServe 0.18" in each.fix for each in found)


def test_an_unknown_newer_version_is_reported_with_the_newest_known_gaps() -> None:
    """A gap that no version has closed so far counts as open."""
    found = examine(snapshot(both(put(*IMAGE, to="kserve/controller:v0.99.0"), put("kserve_crd", to={})))).findings
    assert [each.kind.id for each in found] == ["KServeNew", "KServeGap"]
    assert "0.99" in found[0].what


def test_every_kind_has_a_case() -> None:
    """A finding that no input can cause is useless."""
    assert {*KINDS} == {each[0] for each in CASES} | {"KServeGap", "KServeNew"}
    with pytest.raises(ValueError, match="set the area"):
        finding("NotReadable", "nodes", "what", "fix")


_LOOKS = [
    *((name,) for name in ("version", "kserve_crd", "own_crd", "containers", "runtimes", "nodes", "classes")),
    *((name,) for name in ("controller", "config", "operators", "leases")),
    *(("spaces", "team", name) for name in ("itself", "policies", "quotas", "claims", "runtimes", "pods")),
]


@pytest.mark.parametrize("raw", [DENIED, BROKEN])
@pytest.mark.parametrize("path", _LOOKS, ids=[path[-1] for path in _LOOKS])
def test_an_unreadable_object_is_reported_as_unknown(path: tuple[str, ...], raw: str) -> None:
    """One finding names it and has no fix, and no area that needs the object is reported as fine."""
    seen = snapshot(put(*path, to=raw))
    found = examine(seen)
    assert [each.kind.severity for each in found.findings] == [DoctorSeverity.UNKNOWN]
    serves = next(answer.query.serves for answer in seen.answers() if answer.unread)
    assert {found.state(area) for area in serves} == {"unknown"}
