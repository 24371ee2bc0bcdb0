"""What a version of KServe or Kubernetes cannot bring is refused with the version that can and another way out."""

from typing import Any

import pytest
from tests.unit.specs import URIS

from specdec_engine.rule import Finding, Severity, rules_in
from specdec_operator.staging import rules
from specdec_operator.staging.kserve import GAPS, NEWEST, WAYS_OUT, KServe, KServeNeed, gap, shown
from specdec_operator.staging.layout import lay_out

Json = dict[str, Any]
ONCE: Json = {"mode": "PersistentVolumeClaim", "claim": {"storage": "20Gi"}}
MIXES: dict[str, tuple[str, str | None]] = {
    "hf": ("hf://a/b:1", None),
    "hf + s3": ("hf://a/b:1", "s3://bucket/d/"),
    "pvc": ("pvc://models/t", None),
    "pvc + hf": ("pvc://models/t", "hf://a/d:1"),
    "pvc + oci": ("pvc://models/t", "oci://a/d:1"),
    "oci": ("oci://a/t:1", None),
    "oci + oci": ("oci://a/t:1", "oci://a/d:1"),
    "hf + oci": ("hf://a/b:1", "oci://a/d:1"),
    "oci + hf": ("oci://a/t:1", "hf://a/d:1"),
    "native": ("oci+native://a/t:1", None),
    "native + oci": ("oci+native://a/t:1", "oci://a/d:1"),
    "native + hf": ("oci+native://a/t:1", "hf://a/d:1"),
    "git": ("https://host/t.git", None),
}
FIRST: dict[str, tuple[int, int] | None] = {
    "hf": (0, 14),
    "hf + s3": (0, 17),
    "pvc": None,
    "pvc + hf": (0, 14),
    "pvc + oci": (0, 14),
    "oci": (0, 14),
    "oci + oci": (0, 20),
    "hf + oci": (0, 20),
    "oci + hf": (0, 20),
    "native": (0, 15),
    "native + oci": (0, 15),
    "native + hf": (0, 15),
    "git": (0, 17),
}
"""The first version of KServe that brings the mix; None: every one."""
VERSIONS = [(0, minor) for minor in range(13, 22)]


def found(mix: str, kserve: KServe, **more: Any) -> tuple[Finding, ...]:
    target, draft = MIXES[mix]
    speculation = {"speculation": {"method": "eagle3", "draft": {"uri": draft}}} if draft else {}
    return lay_out({"model": {"uri": target}} | speculation | more, name="llama", kserve=kserve).findings


def refused(findings: tuple[Finding, ...]) -> list[Finding]:
    return [each for each in findings if each.rule.severity is Severity.REFUSED]


def ids(findings: tuple[Finding, ...]) -> list[str]:
    return [each.rule.id for each in findings]


@pytest.mark.parametrize("mix", MIXES)
def test_a_version_that_lacks_something_is_refused_and_every_later_one_is_not(mix: str) -> None:
    """Nothing is rendered that a version leaves out without a word."""
    first = FIRST[mix]
    for version in VERSIONS:
        said = refused(found(mix, KServe(version=version)))
        assert bool(said) == (first is not None and version < first), version
        for each in said:
            assert each.message.startswith(f"KServe {shown(version)} ")
            assert any(f"KServe 0.{minor} " in each.message for minor in range(15, 21))
            assert any(way in each.message for way in WAYS_OUT.values())
            assert each.value in MIXES[mix]
            assert each.field == ("spec.model.uri" if each.value == MIXES[mix][0] else "spec.speculation.draft.uri")


@pytest.mark.parametrize("mix", MIXES)
def test_nothing_is_refused_for_what_is_not_known(mix: str) -> None:
    """A cluster that cannot be read is not a wrong one."""
    assert refused(found(mix, KServe())) == []


@pytest.mark.parametrize("mix", ["hf", "hf + s3", "git", "pvc + hf"])
@pytest.mark.parametrize("version", VERSIONS, ids=shown)
def test_a_job_needs_nothing_of_kserve(mix: str, version: tuple[int, int]) -> None:
    """One exception: a git repository, which only a newer storage-initializer knows."""
    said = refused(found(mix, KServe(version=version, multi_download=False, oci_mode=""), staging=ONCE))
    assert bool(said) == (mix == "git" and version < (0, 17))


@pytest.mark.parametrize(("version", "barred"), [((0, 16), True), ((0, 17), False), (None, False)])
def test_patterns_need_an_initializer_that_reads_them(version: tuple[int, int] | None, *, barred: bool) -> None:
    """An older one would download every file, and call it done."""
    said = refused(found("hf", KServe(version=version), staging=ONCE | {"include": ["*.json"], "exclude": ["*"]}))
    assert [each.field for each in said] == (["spec.staging.include", "spec.staging.exclude"] if barred else [])


@pytest.mark.parametrize("mix", ["hf + s3", "oci + hf"])
def test_a_container_that_takes_one_download_is_refused(mix: str) -> None:
    """KServe 0.17 ships such a container; its controller makes no pods. If it cannot be read, a finding shows that."""
    assert "KSERVE-MULTI-DOWNLOAD" in ids(found(mix, KServe(version=(0, 20), multi_download=False)))
    assert not refused(found(mix, KServe(version=(0, 20), multi_download=True)))
    assert not refused(found("hf", KServe(version=(0, 20), multi_download=False)))
    assert "KSERVE-MULTI-DOWNLOAD-UNKNOWN" in ids(found("hf", KServe(version=(0, 17))))
    assert ids(found("hf", KServe(version=(0, 17), multi_download=True))) == []
    assert ids(found("pvc", KServe(version=(0, 17), multi_download=False))) == []


@pytest.mark.parametrize(("mode", "barred"), [("", True), ("modelcar", False), ("native", False), (None, False)])
def test_images_that_the_configmap_switches_off_are_refused(mode: str | None, *, barred: bool) -> None:
    """KServe 0.20 would start the pods without the model. Image volumes of our own do not ask KServe."""
    kserve = KServe(version=(0, 20), oci_mode=mode)
    assert bool(refused(found("oci", kserve))) == barred
    assert not refused(found("native", kserve))


@pytest.mark.parametrize(("version", "barred"), [((0, 20), False), ((0, 21), True), ((0, 30), True)])
def test_an_image_that_is_fetched_leaves_no_place_for_a_download(version: tuple[int, int], *, barred: bool) -> None:
    """KServe 0.20 takes `fetch` for a Modelcar; two images are both fetched."""
    kserve = KServe(version=version, oci_mode="fetch")
    assert bool(refused(found("hf + oci", kserve))) == barred
    assert bool(refused(found("oci + hf", kserve))) == barred
    assert not refused(found("oci + oci", kserve))
    assert not refused(found("pvc + oci", kserve))


@pytest.mark.parametrize(
    ("kubernetes", "said"),
    [
        ((1, 30), "KUBERNETES-IMAGE-VOLUME"),
        ((1, 32), "KUBERNETES-IMAGE-VOLUME"),
        ((1, 33), "KUBERNETES-IMAGE-GATE"),
        ((1, 34), "KUBERNETES-IMAGE-GATE"),
        ((1, 35), None),
        (None, None),
    ],
)
def test_image_volumes_need_a_kubernetes_that_has_them(kubernetes: tuple[int, int] | None, said: str | None) -> None:
    """Those of KServe's native mode as well as our own; Modelcars need none."""
    expected = [said] if said else []
    assert ids(found("native", KServe(kubernetes=kubernetes))) == expected
    assert ids(found("oci", KServe(kubernetes=kubernetes, oci_mode="native"))) == expected
    assert ids(found("oci", KServe(kubernetes=kubernetes, oci_mode="modelcar"))) == []


def test_a_newer_kserve_is_warned_of_and_goes_on() -> None:
    """Its behaviour is unknown; the operator checks in the Deployment what was mounted."""
    (said,) = found("pvc", KServe(version=(0, NEWEST[1] + 1)))
    assert (said.rule.id, said.rule.severity, said.value) == ("KSERVE-NEWER", Severity.WARNED, "0.22")
    assert found("pvc", KServe(version=NEWEST)) == ()


def drafted(target: str, draft: str, **more: Any) -> list[tuple[str, Severity, str]]:
    spec = {"model": {"uri": target}, "speculation": {"draft": {"uri": draft}}, **more}
    return [(each.rule.id, each.rule.severity, each.message) for each in lay_out(spec, name="llama").findings]


@pytest.mark.parametrize(
    ("target", "draft", "words"),
    [
        ("hf://meta/t:1", "hf://yuhuili/d:1", "hf://meta and hf://yuhuili are both read with one token (HF_TOKEN)"),
        (
            "s3://ours/t",
            "s3://theirs/d",
            ("s3://ours and s3://theirs are both read with one endpoint and one pair of keys"),
        ),
        ("gs://ours/t", "gs://theirs/d", "one service account key"),
        ("hf://meta/t:1", "hf://meta/d:1", None),
        ("s3://ours/t", "s3://ours/d", None),
        ("hf://meta/t:1", "s3://theirs/d", None),
        ("https://a/t.zip", "https://b/d.zip", None),
        ("pvc://a", "pvc://b", None),
        ("oci://a/t:1", "oci://b/d:1", None),
    ],
)
@pytest.mark.parametrize("staging", [{}, ONCE])
def test_two_accounts_of_one_kind_are_noted(target: str, draft: str, words: str | None, staging: Json) -> None:
    """One set of credentials downloads both, by KServe as by a Job; often both are public, so this is only a note."""
    if staging and target.startswith("oci"):
        return
    said = [each for each in drafted(target, draft, staging=staging) if each[0] == "STAGING-ONE-ACCOUNT"]
    assert bool(said) == (words is not None)
    assert all(severity is Severity.NOTED and str(words) in message for _, severity, message in said)


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("hf://a/b", ["STAGING-MOVES"]),
        ("hf://a/b:main", []),
        ("s3://bucket/a", []),
        ("https://host/llama.tar.gz", []),
        ("https://host/llama.zip", []),
        ("https://host/llama.git", []),
        ("https://team.blob.core.windows.net/models/llama", []),
        ("https://team.z12.blob.storage.azure.net/models/llama", []),
        ("https://host/model.safetensors", ["STAGING-ONE-FILE"]),
        ("https://host/llama", ["STAGING-ONE-FILE"]),
    ],
)
def test_surprising_uris_are_reported(uri: str, said: list[str]) -> None:
    """A revision that moves, and one file where a folder is needed."""
    findings = lay_out({"model": {"uri": uri}}, name="llama").findings
    assert ids(findings) == said


def test_a_pvc_of_one_node_with_several_pods_is_warned_of() -> None:
    """The second node would wait for ever."""
    many = {"staging": ONCE, "replicas": 2}
    assert ids(found("hf", KServe(), **many)) == ["STAGING-ONE-NODE"]
    assert ids(found("hf", KServe(), staging=ONCE, replicas=1)) == []
    assert ids(found("pvc", KServe(), **many)) == []
    shared = ONCE | {"claim": {"storage": "1Gi", "accessModes": ["ReadWriteMany"]}}
    assert ids(found("hf", KServe(), staging=shared, replicas=2)) == []


def test_refusals_come_first() -> None:
    """A sis that is Stalled shows only the first one."""
    findings = lay_out({"model": {"uri": "hf://a/b"}}, name="llama", kserve=KServe(version=(0, 13))).findings
    assert [each.rule.severity for each in findings] == [Severity.REFUSED, Severity.NOTED]


def test_every_need_has_a_gap_and_a_way_out_and_no_two_gaps_overlap() -> None:
    """A table that is asked by version must have one answer."""
    assert {each.need for each in GAPS} == set(KServeNeed) == set(WAYS_OUT)
    for need in KServeNeed:
        for version in [(0, minor) for minor in range(10, 30)]:
            holding = [
                each
                for each in GAPS
                if each.need is need
                and (each.since is None or each.since <= version)
                and (each.until is None or version <= each.until)
            ]
            assert [gap(need, version)] == (holding or [None])


def test_rules_are_listed_once_and_cover_every_scheme() -> None:
    """They are quoted in tickets; URIs of the random specs have one of each."""
    every = rules_in(rules)
    assert len({rule.id for rule in every}) == len(every)
    schemes = {uri.partition(":")[0] for uri in URIS}
    assert schemes == {"pvc", "hf", "s3", "gs", "https", "oci", "oci+native"}
