"""One layout for every mix: what is mounted where, what is downloaded, and what a mode refuses."""

from posixpath import commonpath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.specs import URIS

from specdec_operator.errors import Invalid
from specdec_operator.staging.layout import DRAFT_PATH, TARGET_PATH, Layout, lay_out

Json = dict[str, Any]
NAME = "llama"
ONCE: Json = {"mode": "PersistentVolumeClaim", "claim": {"storage": "20Gi"}}
HUB = {"uri": "hf://meta-llama/llama:1"}
HEAD = {"uri": "s3://bucket/eagle/"}
CAR = {"uri": "oci://registry.example/llama:1"}


def spec(model: Json, draft: Json | None = None, staging: Json | None = None) -> Json:
    speculation = {} if draft is None else {"speculation": {"method": "eagle3", "draft": draft}}
    return {"model": model} | speculation | ({} if staging is None else {"staging": staging})


def laid(model: Json, draft: Json | None = None, staging: Json | None = None, **changes: Any) -> Layout:
    return lay_out(spec(model, draft, staging), name=NAME, **changes)


def claims(layout: Layout) -> dict[str, str]:
    return {each["name"]: each["persistentVolumeClaim"]["claimName"] for each in layout.volumes}


def mounts(layout: Layout) -> list[tuple[str, str, str]]:
    assert all(each["readOnly"] is True for each in layout.mounts)
    return [(each["name"], each.get("subPath", ""), each["mountPath"]) for each in layout.mounts]


@pytest.mark.parametrize(
    ("model", "draft", "volumes", "folders"),
    [
        ({"uri": "pvc://a/t"}, None, {"specdec-target": "a"}, ["t"]),
        ({"uri": "pvc://a/t"}, {"uri": "pvc://a/d/e"}, {"specdec-target": "a"}, ["t", "d/e"]),
        ({"uri": "pvc://a", "path": "t"}, {"path": "d"}, {"specdec-target": "a"}, ["t", "d"]),
        ({"uri": "pvc://a/x", "path": "t"}, {"path": "d"}, {"specdec-target": "a"}, ["x/t", "x/d"]),
        ({"uri": "pvc://a/t"}, {"path": "d"}, {"specdec-target": "a"}, ["t", "t/d"]),
        ({"uri": "pvc://a"}, {"uri": "pvc://b"}, {"specdec-target": "a", "specdec-draft": "b"}, ["", ""]),
    ],
)
def test_each_pvc_is_one_volume_and_each_folder_one_mount(
    model: Json, draft: Json | None, volumes: dict[str, str], folders: list[str]
) -> None:
    """Two volumes of one pod that name the same PVC never mount; the operator sets nothing for KServe to mount."""
    found = laid(model, draft)
    assert claims(found) == volumes
    assert all(each["persistentVolumeClaim"]["readOnly"] for each in found.volumes)
    assert [folder for _, folder, _ in mounts(found)] == folders
    assert [path for *_, path in mounts(found)] == [TARGET_PATH, DRAFT_PATH][: len(folders)]
    assert (found.target, found.draft) == (TARGET_PATH, DRAFT_PATH if draft else None)
    assert found.storage_uris == found.downloads == found.kept == ()


def test_what_kserve_brings_is_named_with_its_path_downloads_first() -> None:
    """KServe chooses the container, and so the credentials, of all downloads by the first URI alone."""
    found = laid(CAR, HUB)
    assert found.storage_uris == (
        {"uri": HUB["uri"], "mountPath": DRAFT_PATH},
        {"uri": CAR["uri"], "mountPath": TARGET_PATH},
    )
    assert found.volumes == found.mounts == ()
    assert [each["uri"] for each in laid(HUB, HEAD).storage_uris] == [HUB["uri"], HEAD["uri"]]


@pytest.mark.parametrize("uri", ["hf://a/b:1", "s3://bucket/both.tar", "https://host/both.tar", "oci://a/b:1"])
@pytest.mark.parametrize("named", [True, False])
def test_one_artifact_with_both_folders_is_brought_once(uri: str, *, named: bool) -> None:
    """Whether the draft names it again or not; the folders lie below its one mount."""
    draft = {"uri": f"{uri}/", "path": "d"} if named and not uri.startswith("oci") else {"path": "d"}
    found = laid({"uri": uri, "path": "t/u"}, draft)
    assert found.storage_uris == ({"uri": uri, "mountPath": TARGET_PATH},)
    assert (found.target, found.draft) == (f"{TARGET_PATH}/t/u", f"{TARGET_PATH}/d")


def test_a_job_downloads_each_artifact_once_into_the_operators_pvc() -> None:
    """Mounted like any PVC; the path is a folder of what was downloaded."""
    found = laid(HUB | {"path": "t"}, HEAD, ONCE)
    first, second = found.downloads
    assert [(each.name, each.uri) for each in found.downloads] == [("target", HUB["uri"]), ("draft", HEAD["uri"])]
    assert found.claim == "llama-models"
    assert claims(found) == {"specdec-target": "llama-models"}
    assert mounts(found) == [
        ("specdec-target", f"{first.key}/t", TARGET_PATH),
        ("specdec-target", second.key, DRAFT_PATH),
    ]
    assert found.storage_uris == ()
    assert found.kept == (first.key, second.key)


def test_two_folders_of_one_repository_are_downloaded_together() -> None:
    """Its key is the same, so its folder is."""
    found = laid(HUB, {"path": "d"}, ONCE)
    (download,) = found.downloads
    assert [folder for _, folder, _ in mounts(found)] == [download.key, f"{download.key}/d"]


def test_pvcs_of_the_user_are_mounted_beside_downloads() -> None:
    """Only what is remote is downloaded."""
    found = laid({"uri": "pvc://mine/t"}, HEAD, ONCE)
    assert claims(found) == {"specdec-target": "mine", "specdec-draft": "llama-models"}
    assert [each.name for each in found.downloads] == ["draft"]


def key(uri: str, **patterns: list[str]) -> str:
    return laid({"uri": uri}, None, ONCE | patterns).downloads[0].key


def test_other_files_have_another_folder() -> None:
    """So nothing is served that is half old and half new; the order of patterns means nothing."""
    asked: list[dict[str, list[str]]] = [{}, {"include": ["*.json"]}, {"exclude": ["*.json"]}, {"include": ["*", "a"]}]
    keys = {key(uri, **each) for uri in ("hf://a/b:1", "hf://a/b:2") for each in asked}
    assert len(keys) == 8
    assert all(len(each) == 16 and int(each, 16) >= 0 for each in keys)
    assert key("s3://bucket/x/", include=["a", "*"]) == key("s3://bucket/x", include=["*", "a", "a"])
    assert key("hf://a/b:1") == "5e660d31335a7c08", "another key downloads every model of every user again"


MIXES = st.tuples(
    st.fixed_dictionaries({"uri": st.sampled_from(URIS)}, optional={"path": st.sampled_from(["t", "x/y"])}),
    st.none()
    | st.fixed_dictionaries({"uri": st.sampled_from(URIS)}, optional={"path": st.sampled_from(["d", "x"])})
    | st.fixed_dictionaries({"path": st.sampled_from(["d", "x"])}),
    st.sampled_from([None, {}, ONCE, {"mode": "StorageUris"}, {"mode": "Modelcar"}]),
)


def or_none(*mix: Any) -> Layout | None:
    """The layout; None where it is refused."""
    try:
        return laid(*mix)
    except Invalid:
        return None


@given(MIXES)
def test_any_mix_is_refused_or_laid_out_soundly(mix: tuple[Json, Json | None, Json | None]) -> None:
    """No PVC twice, no mount in another, a model behind every path, nothing by two ways, and twice the same."""
    found = or_none(*mix)
    if found is None:
        return
    assert found == laid(*mix)
    names = [each["name"] for each in found.volumes]
    whats = [{key: value for key, value in each.items() if key != "name"} for each in found.volumes]
    assert len(set(names)) == len(names) == len([each for i, each in enumerate(whats) if each not in whats[:i]])
    assert {each["name"] for each in found.mounts} == set(names)
    places = [each["mountPath"] for each in (*found.mounts, *found.storage_uris)]
    assert set(places) <= {TARGET_PATH, DRAFT_PATH}
    assert len(set(places)) == len(places)
    wanted = [found.target, *([found.draft] if found.draft else [])]
    assert all(any(f"{path}/".startswith(f"{place}/") for place in places) for path in wanted)
    assert len(set(wanted)) == len(wanted)
    assert {TARGET_PATH} <= set(places)
    assert (DRAFT_PATH in places) == any(path.startswith(DRAFT_PATH) for path in wanted)


@given(MIXES)
def test_without_the_draft_the_target_stays_as_it_is(mix: tuple[Json, Json | None, Json | None]) -> None:
    """A rollback moves nothing, downloads nothing, and allows no Job to remove the draft that a retry needs."""
    whole = or_none(*mix)
    if whole is None:
        return
    baseline = lay_out(spec(*mix), name=NAME, draft=False)
    assert (baseline.target, baseline.draft) == (whole.target, None)
    assert baseline.claim == whole.claim
    assert baseline.kept == whole.kept
    assert set(baseline.downloads) <= set(whole.downloads)
    for field in ("volumes", "mounts", "storage_uris"):
        assert all(each in getattr(whole, field) for each in getattr(baseline, field))
    model, _, staging = mix
    alone = laid(model, None, staging)
    assert (alone.volumes, alone.mounts, alone.storage_uris) == (
        baseline.volumes,
        baseline.mounts,
        baseline.storage_uris,
    )


@pytest.mark.parametrize(
    ("asked", "field", "words"),
    [
        (
            spec(HUB, CAR, {"mode": "StorageUris"}),
            "spec.speculation.draft.uri",
            "StorageUris supports hf, s3, gs and https",
        ),
        (spec({"uri": "pvc://a"}, None, {"mode": "StorageUris"}), "spec.model.uri", "remove the mode"),
        (spec(CAR, HUB, {"mode": "Modelcar"}), "spec.speculation.draft.uri", "Modelcar supports oci and oci+native"),
        (spec(CAR, HUB, ONCE), "spec.model.uri", "nodes cache images themselves"),
        (spec({"uri": "pvc://llama-models"}, HUB, ONCE), "spec.model.uri", "rename your PVC"),
        (spec(HUB, None, {"mode": "PersistentVolumeClaim"}), "spec.staging.claim", "set its storage size"),
        (
            spec({"uri": "pvc://a/x"}, {"uri": "pvc://a", "path": "x"}),
            "spec.speculation.draft",
            "the target's own folder",
        ),
        (spec(HUB, HUB), "spec.speculation.draft", "the target's own folder"),
        (spec(HUB | {"path": "x"}, {"path": "x"}), "spec.speculation.draft", "the target's own folder"),
        (
            spec(CAR, {"uri": CAR["uri"].replace("oci", "oci+native")}),
            "spec.speculation.draft",
            "the target's own folder",
        ),
        (spec(HUB, {"uri": "pvc://"}), "spec.speculation.draft.uri", "name the PVC"),
        (spec({"uri": "hf://a/b", "path": ".."}), "spec.model.path", "must not have empty parts"),
    ],
)
@pytest.mark.parametrize("draft", [True, False])
def test_what_no_kserve_could_bring_is_refused_in_every_state(
    asked: Json, field: str, words: str, *, draft: bool
) -> None:
    """A rolled-back sis is checked as well: its draft is to come back."""
    with pytest.raises(Invalid) as refused:
        lay_out(asked, name=NAME, draft=draft)
    assert refused.value.field == field
    assert words in refused.value.rule


@pytest.mark.parametrize(
    ("mode", "model", "draft"),
    [("StorageUris", HUB, HEAD), ("Modelcar", CAR, {"uri": "oci+native://a/d:1"}), ("Modelcar", CAR, {"path": "d"})],
)
def test_a_mode_that_fits_changes_nothing(mode: str, model: Json, draft: Json) -> None:
    """It asserts what the URIs determine already."""
    assert laid(model, draft, {"mode": mode}) == laid(model, draft)


def test_a_draft_in_the_targets_own_weights_is_not_staged() -> None:
    """As mtp has it: there is no folder of its own."""
    assert laid(HUB, {"tensorParallelSize": 1}) == laid(HUB)


LORA: Json = {"adapters": [{"name": "a", "uri": "pvc://loras/a"}]}
LORA_HUB: Json = {"adapters": [{"name": "a", "uri": "hf://org/a:1"}]}


@pytest.mark.parametrize(
    ("model", "draft", "beside", "places"),
    [
        (HUB, HEAD, [], [TARGET_PATH, DRAFT_PATH]),
        (HUB, HEAD, ["/mnt/specdec"], ["/mnt/models/target/model", "/mnt/models/draft/model"]),
        (HUB | LORA, HEAD, [], ["/mnt/models/target/model", "/mnt/models/draft/model"]),
        (HUB | LORA_HUB, {"uri": "pvc://a/d"}, [], ["/mnt/models/target/model", "/mnt/models/adapters/0/model"]),
        (HUB, {"uri": "pvc://a/d"}, ["/mnt/specdec"], [TARGET_PATH]),
        ({"uri": "pvc://a/t"} | LORA, HEAD, ["/mnt/specdec"], [DRAFT_PATH]),
    ],
)
def test_downloads_make_way_where_their_volume_would_have_another_mount_in_it(
    model: Json, draft: Json, beside: list[str], places: list[str]
) -> None:
    """KServe mounts it read-only at the folder above all of them, and no folder for a mount can be made in there."""
    found = laid(model, draft, beside=beside)
    assert [each["mountPath"] for each in found.storage_uris] == places
    found_at = {found.target, found.draft, *found.adapters}
    assert set(places) <= found_at
    above = commonpath(places)
    others = [path for *_, path in mounts(found)] + beside
    assert len(places) == 1 or not any(each.startswith(f"{above}/") for each in others)


def test_two_adapters_stay_where_they_are_beside_a_pvc() -> None:
    """The folder above them has nothing else in it."""
    two = {"adapters": [{"name": name, "uri": f"hf://org/{name}:1"} for name in "ab"]}
    found = laid({"uri": "pvc://a/t"} | two, {"uri": "pvc://a/d"})
    assert found.adapters == ("/mnt/adapters/0/model", "/mnt/adapters/1/model")


def test_a_rollback_moves_no_download() -> None:
    before, after = (lay_out(spec(HUB | LORA, HEAD), name=NAME, draft=drafted) for drafted in (True, False))
    assert before.target == after.target == "/mnt/models/target/model"
    assert after.draft is None
