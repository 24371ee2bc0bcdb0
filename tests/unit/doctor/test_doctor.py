"""`specdec doctor`: everything that it can find is found where it is, and nothing in a cluster that is well."""

import pytest
from tests.unit.doctor.doctor_cases import CASES, GAP, IMAGE, QUIET, both, put
from tests.unit.doctor.snapshots import BROKEN, DENIED, Change, snapshot

from specdec_command.doctor.examine import examine
from specdec_command.doctor.finding import KINDS, Area, Severity, finding


def test_a_cluster_that_is_well_is_left_alone() -> None:
    """No finding, and every area is fine."""
    found = examine(snapshot())
    assert found.findings == ()
    assert {found.state(each) for each in Area} == {"fine"}


@pytest.mark.parametrize(("kind", "change", "words"), CASES, ids=[f"{n}-{each[0]}" for n, each in enumerate(CASES)])
def test_what_is_wrong_is_found_alone_and_told_with_its_way_out(
    kind: str, change: Change, words: tuple[str, ...]
) -> None:
    """One fault, one kind of finding: what is, why it matters, how to mend it."""
    found = examine(snapshot(change))
    assert {each.kind.id for each in found.findings} == {kind}
    for each in words:
        assert each in found.findings[0].sentence
    assert found.findings[0].fix
    assert found.state(found.findings[0].area) == found.findings[0].kind.severity.value


@pytest.mark.parametrize("change", QUIET.values(), ids=QUIET.keys())
def test_what_only_looks_wrong_is_left_alone(change: Change) -> None:
    """A finding too many is one that nobody reads."""
    assert [each.sentence for each in examine(snapshot(change)).findings] == []


def test_a_version_with_gaps_tells_each_of_them() -> None:
    """As the rules of staging say them, with what would close them."""
    found = examine(snapshot(GAP)).findings
    assert {each.kind.id for each in found} == {"KServeGap"}
    assert len(found) > 2
    assert any("issue 4819" in each.what and "KServe 0.18" in each.fix for each in found)


def test_a_version_of_tomorrow_is_said_to_be_unknown_with_the_newest_gaps_that_are_known() -> None:
    """A gap that nobody closed so far is taken to be open still."""
    found = examine(snapshot(both(put(*IMAGE, to="kserve/controller:v0.99.0"), put("kserve_crd", to={})))).findings
    assert [each.kind.id for each in found] == ["KServeNew", "KServeGap"]
    assert "0.99" in found[0].what


def test_every_kind_has_a_case() -> None:
    """What nothing can bring about is no check."""
    assert {*KINDS} == {each[0] for each in CASES} | {"KServeGap", "KServeNew"}
    assert [each.id for each in KINDS.values() if "{" in each.when + each.why] == []  # what stands for a number or name
    with pytest.raises(ValueError, match="set the area"):
        finding("NotReadable", "nodes", "what", "fix")


_LOOKS = [
    *((name,) for name in ("version", "kserve_crd", "own_crd", "containers", "runtimes", "nodes", "classes")),
    *((name,) for name in ("controller", "config", "operators", "leases")),
    *(("spaces", "team", name) for name in ("itself", "policies", "quotas", "claims", "runtimes", "pods")),
]


@pytest.mark.parametrize("raw", [DENIED, BROKEN])
@pytest.mark.parametrize("path", _LOOKS, ids=[path[-1] for path in _LOOKS])
def test_what_cannot_be_read_is_neither_a_fault_nor_silence(path: tuple[str, ...], raw: str) -> None:
    """One finding that names it, nothing to fix, and no area that needs it is called fine."""
    seen = snapshot(put(*path, to=raw))
    found = examine(seen)
    assert [each.kind.severity for each in found.findings] == [Severity.UNKNOWN]
    serves = next(answer.query.serves for answer in seen.answers() if answer.unread)
    assert {found.state(area) for area in serves} == {"unknown"}
