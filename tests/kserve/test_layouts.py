"""The pods that KServe makes of each layout: everything mounted where the engine looks, nothing dropped or nested."""

import json

import pytest

from specdec_operator.api.spec import Owner
from specdec_operator.render.baseline_pods import render_baseline_pods
from specdec_operator.render.inference_service import render
from specdec_operator.render.plan import plan
from specdec_operator.staging.layout import DRAFT_PATH, TARGET_PATH
from tests.kserve.layouts import PAIRS, SOURCES, Json, brought, isvc, isvc_of, mounted, sis
from tests.kserve.made import Made, Place, all_made, engine_of, named
from tests.unit.builders import DRAFT, NAME, NAMESPACE, Body, make_rollback, make_spec, make_state

OWNER = Owner(name=NAME, namespace=NAMESPACE, uid="u-1")
_baselines: dict[str, Body] = {}
"""Deployments of services without speculation, by their InferenceService: many mixes have the same."""


async def baseline_of(place: Place, spec: Json) -> tuple[Json, Body]:
    """The InferenceService of a spec without its draft, and the Deployment that KServe made of one like it."""
    state = make_state(rollback=make_rollback())
    manifest = render(plan(make_spec(**spec), state, name=NAME), OWNER).manifest
    key = json.dumps(manifest["spec"], sort_keys=True)
    if key not in _baselines:
        _baselines[key] = (await place.make(named(manifest, "plain"))).deployment
    return manifest, _baselines[key]


def other_parts(made: Body) -> Json:
    """The engine's container without what comes of the draft's artifact: an image among them sets its user."""
    parts = engine_of(made["spec"]["template"]["spec"])
    parts["securityContext"] = {key: part for key, part in parts["securityContext"].items() if key != "runAsUser"}
    return {key: part for key, part in parts.items() if key not in ("args", "volumeMounts", "env")}


def places(made: Body) -> set[str]:
    """Where the engine's container has something mounted."""
    return {f"{path}/" for path in mounted(made["spec"]["template"]["spec"])}


async def beside_it_runs_what_the_baseline_would(place: Place, made: Made, spec: Json) -> None:
    """The flags to the letter, and the target where it was. What stages the draft is left: it does no harm."""
    manifest, baseline = await baseline_of(place, spec)
    predictors = (isvc_of(spec)["spec"]["predictor"], manifest["spec"]["predictor"])
    compared = render_baseline_pods(made.deployment, *predictors, OWNER, 1)
    assert (
        engine_of(compared["spec"]["template"]["spec"])["args"]
        == engine_of(baseline["spec"]["template"]["spec"])["args"]
    )
    assert other_parts(compared) == other_parts(baseline)
    there = tuple(places(compared))
    assert all(each.startswith(there) for each in places(baseline)), "two downloads share the folder above them"


@pytest.mark.parametrize(("target", "draft"), PAIRS)
async def test_every_mix_is_mounted_whole(place: Place, target: str, draft: str) -> None:
    """At the paths in the flags; no mount in another, no volume twice, all of it read-only but the Modelcars' links."""
    made = await place.make(isvc(target, draft))
    pod = made.pod
    found = mounted(pod)
    named = {target, draft} & set(SOURCES)
    uris = [SOURCES[target].format("target"), *([SOURCES[draft].format("draft")] if draft in SOURCES else [])]
    assert brought(pod) == {"/".join(uri.split("/")[:3]) if uri.startswith("pvc") else uri for uri in uris}
    assert not [(one, other) for one in found for other in found if other.startswith(f"{one}/")]
    for flag in made.isvc["spec"]["predictor"]["model"]["args"]:
        for wanted in (TARGET_PATH, DRAFT_PATH):
            assert wanted not in flag or any(wanted.startswith(path) for path in found)
    assert all(source["readOnly"] or "emptyDir" in source for source in found.values())
    assert ("shareProcessNamespace" in pod) == ("oci" in named)
    claims = [str(each["persistentVolumeClaim"]) for each in pod["volumes"] if "persistentVolumeClaim" in each]
    assert len(claims) == len(set(claims))
    if draft != "none":
        await beside_it_runs_what_the_baseline_would(place, made, sis(target, draft))


def left_to_kserve(target: str, draft: str) -> Json:
    """An InferenceService that leaves two sources to KServe, at the paths where the operator puts them."""
    manifest = isvc_of({"model": {"uri": "hf://org/target"}, "speculation": DRAFT | {"draft": {"uri": "hf://org/d"}}})
    uris = [{"uri": target, "mountPath": TARGET_PATH}, {"uri": draft, "mountPath": DRAFT_PATH}]
    manifest["spec"]["predictor"]["storageUris"] = uris
    return manifest


async def test_two_pvcs_are_mounted_at_the_paths_of_kserve(place: Place) -> None:
    """KServe would leave out the folder of each, so the volumes are ours."""
    ours = isvc_of({"model": {"uri": "pvc://claim-a"}, "speculation": DRAFT | {"draft": {"uri": "pvc://claim-b"}}})
    found = await all_made(place, {"ours": ours, "theirs": left_to_kserve("pvc://claim-a", "pvc://claim-b")})
    assert mounted(found["ours"].pod) == mounted(found["theirs"].pod)
    assert "storageUris" not in ours["spec"]["predictor"]


async def test_a_folder_of_a_pvc_differs_from_the_mount_of_kserve(place: Place) -> None:
    """KServe mounts the whole PVC at the path, and the operator mounts the folder, so it needs volumes of its own."""
    ours = isvc_of({"model": {"uri": "pvc://models/a"}, "speculation": DRAFT | {"draft": {"uri": "pvc://models/b"}}})
    found = await all_made(place, {"ours": ours, "theirs": left_to_kserve("pvc://models/a", "pvc://models/b")})
    assert [each["subPath"] for each in mounted(found["ours"].pod).values()] == ["a", "b"]
    assert [each["subPath"] for each in mounted(found["theirs"].pod).values()] == ["", ""]
    volumes = {each["name"] for each in found["ours"].pod["volumes"]}
    assert volumes == {"shm", "specdec-tmp", "specdec-target", "specdec-dial"}


async def test_a_volume_of_a_service_at_tmp_takes_the_place_of_the_runtimes(place: Place) -> None:
    """The runtimes mount an empty folder there, because their file systems are read-only. Two mounts are refused."""
    own = {"volumes": [{"name": "own", "emptyDir": {}}], "volumeMounts": [{"name": "own", "mountPath": "/tmp"}]}  # noqa: S108
    found = await all_made(place, {"ours": isvc_of({"model": {"uri": "pvc://models/a"}, "pod": own})})
    (engine,) = (each for each in found["ours"].pod["containers"] if each["name"] == "kserve-container")
    assert [each["name"] for each in engine["volumeMounts"] if each["mountPath"] == "/tmp"] == ["own"]  # noqa: S108
    assert engine["securityContext"]["readOnlyRootFilesystem"]


async def test_image_volumes_are_those_of_kserves_native_mode(place: Place) -> None:
    """The mounts are equal, the names of the volumes differ."""
    given = left_to_kserve("oci+native://registry.example/target:1", "oci+native://registry.example/draft:1")
    found = await all_made(place, {"ours": isvc("oci+native", "oci+native"), "theirs": given})
    ours, theirs = found["ours"].pod, found["theirs"].pod
    assert mounted(ours) == mounted(theirs)
    names = [{each["name"] for each in pod["volumes"] if "image" in each} for pod in (ours, theirs)]
    assert len(names[0]) == len(names[1]) == 2
    assert not names[0] & names[1]
