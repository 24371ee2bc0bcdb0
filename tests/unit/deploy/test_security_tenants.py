"""A tenant's sis makes only objects of its namespace, without a privilege, with the operator's flags, whatever its spec
contains.

Each spec goes the whole way: read, planned, checked by the engine's rules, and rendered. A spec that cannot be deployed
raises Invalid with a message, and nothing else is ever raised.
"""

import json
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from tests.unit.builders import NAME, NAMESPACE, Body, make_rollback, make_state
from tests.unit.engine import command_lines as engine_line
from tests.unit.tenants import FLAGS, SOUND, URIS, specs

from specdec_operator.api.pod import SOURCES
from specdec_operator.api.spec import Owner, Spec, owner_reference
from specdec_operator.downloads.job import claim_manifest, job_manifest
from specdec_operator.engine.owned_flags import OWNED_FLAGS
from specdec_operator.errors import Invalid
from specdec_operator.guard.state import Phase
from specdec_operator.names import OWNER_LABEL, REVISION_LABEL, STAGING_LABEL
from specdec_operator.reconcile.sis import read_sis
from specdec_operator.render.inference_service import render
from specdec_operator.render.instrument import PLAIN
from specdec_operator.render.plan import Plan, plan
from specdec_operator.staging.kserve import OPERATOR_IMAGE
from specdec_operator.staging.layout import RUNTIME_PATH

OWNER = Owner(name=NAME, namespace=NAMESPACE, uid="u-1")
ROLLED_BACK = make_state(Phase.ROLLED_BACK, rollback=make_rollback())
EVIL = ("--port=1", "port=1", "--config=/x", '","method":"eagle","x":"', "/etc/passwd")
"""What a variable may hold that Kubernetes puts into a flag."""
ONCE = {flag.removeprefix("--").replace("-", "_") for flag in OWNED_FLAGS} - {"config"}
OF_POD = {
    "nodeSelector",
    "tolerations",
    "affinity",
    "serviceAccountName",
    "imagePullSecrets",
    "priorityClassName",
    "runtimeClassName",
    "topologySpreadConstraints",
    "schedulerName",
    "securityContext",
    "labels",
    "annotations",
}
OF_SCALING = {"minReplicas", "maxReplicas", "scaleMetric", "scaleTarget", "scaleMetricType", "autoScaling"}
"""Fields of KServe that set the number of pods, and no field that sets what the pods are."""
OF_PREDICTOR = {
    *OF_SCALING,
    "deploymentStrategy",
    "model",
    "volumes",
    "storageUris",
    "terminationGracePeriodSeconds",
    "initContainers",
}
OF_CONTAINER = {
    "modelFormat",
    "runtime",
    "command",
    "args",
    "volumeMounts",
    "startupProbe",
    "readinessProbe",
    "livenessProbe",
    "lifecycle",
    "terminationMessagePolicy",
    "image",
    "env",
    "resources",
    "securityContext",
}
OF_VOLUME = {"image", "name", "downwardAPI", *SOURCES}
"""The operator's own kinds too: a downwardAPI shows a pod its own annotations."""
AS_RESTRICTED = {
    *("runAsUser", "runAsGroup", "runAsNonRoot", "fsGroup", "fsGroupChangePolicy", "supplementalGroups"),
    *("seccompProfile", "readOnlyRootFilesystem", "allowPrivilegeEscalation", "capabilities"),
}


def body_of(spec: Any) -> Body:
    meta = {"name": NAME, "namespace": NAMESPACE, "uid": "u-1", "generation": 1}
    return {"metadata": meta, "spec": spec, "status": {}}


def planned(spec: Any) -> tuple[Spec, list[Plan]]:
    """What is served of it, with speculation and after a rollback; nothing where it is refused."""
    try:
        sis = read_sis(body_of(spec))
        return sis.spec, [plan(sis.spec, state, name=NAME) for state in (make_state(), ROLLED_BACK)]
    except Invalid as refused:
        if not refused.field.startswith("spec"):
            raise
        return Spec.model_validate({"model": {"uri": "pvc://x"}}), []


@given(spec=specs())
def test_no_spec_makes_an_object_of_another_namespace_a_privilege_or_a_second_flag(spec: Any) -> None:
    """What is rendered of it, the download Jobs, and the engine's command line."""
    read, plans = planned(spec)
    check_rendered(read, plans)
    check_downloads(read, plans)
    check_flags(plans)


def check_rendered(read: Spec, plans: list[Plan]) -> None:
    """Only the fields that are known to be harmless are rendered, and only for the sis itself."""
    for each in plans:
        made = render(each, OWNER)
        predictor = made.manifest["spec"]["predictor"]
        check_metadata(made.manifest["metadata"], NAME)
        assert predictor.keys() <= OF_PREDICTOR | OF_POD
        assert predictor.get("autoScaling", {}).keys() <= {"metrics", "behavior"}
        assert predictor["model"].keys() <= OF_CONTAINER
        check_brought(predictor)
        check_rights(predictor.get("securityContext", {}))
        check_rights(predictor["model"].get("securityContext", {}))
        assert predictor.get("serviceAccountName") == (read.pod.service_account_name if read.pod else None)
        labels = predictor["labels"]
        assert (labels[OWNER_LABEL], labels[REVISION_LABEL]) == (NAME, made.revision)
        assert STAGING_LABEL not in labels
        check_volumes(predictor["volumes"], predictor["model"]["volumeMounts"])
        assert "{{" not in json.dumps(predictor["model"]).replace('": {"', '":"')


def check_brought(predictor: Body) -> None:
    """The init container and the commands are reserved for the operator, whatever the spec contains."""
    for init in predictor.get("initContainers", ()):
        assert init["image"] == OPERATOR_IMAGE
        assert init["command"] == ["cp", "-R", "/opt/specdec-runtime/.", RUNTIME_PATH]
        assert init.keys() <= {*OF_CONTAINER, "name", "imagePullPolicy"}
        check_rights(init["securityContext"])
        assert [each["mountPath"] for each in init["volumeMounts"]] == [RUNTIME_PATH]
    command = predictor["model"].get("command", [])
    assert command in ([], ["python3", RUNTIME_PATH, "serve"], ["python3", "-c", PLAIN])


def check_downloads(read: Spec, plans: list[Plan]) -> None:
    """The Job and its PVC, if the spec requests them."""
    for each in plans:
        for job in jobs(read, each):
            check_metadata(job["metadata"], job["metadata"]["name"])
            template = job["spec"]["template"]
            assert template["metadata"]["labels"][OWNER_LABEL] == NAME
            pod = template["spec"]
            known = {"restartPolicy", "securityContext", "containers", "volumes"}
            assert pod.keys() <= known | OF_POD
            assert pod["securityContext"]["runAsNonRoot"] is True
            (container,) = pod["containers"]
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
            }
            check_volumes(pod["volumes"], [])
            names = [one["name"] for one in container["env"]]
            assert len(names) == len(set(names))


def jobs(read: Spec, made: Plan) -> Iterator[Body]:
    """The Jobs of a plan; none where one is refused."""
    written = read.model_dump(mode="json", by_alias=True, exclude_none=True)
    staging = written.get("staging", {})
    if made.layout.claim is None:
        return
    check_metadata(claim_manifest(OWNER, staging["claim"])["metadata"], f"{NAME}-models")
    for each in made.layout.downloads:
        words = {"image": "i", "claim": made.layout.claim, "staging": staging, "pod": written.get("pod", {})}
        try:
            yield job_manifest(OWNER, each, keep=(), attempt=1, **words)
        except Invalid as refused:
            if not refused.field.startswith("spec.staging.env"):
                raise


def check_metadata(meta: Body, name: str) -> None:
    assert (meta["name"], meta["namespace"]) == (name, NAMESPACE)
    assert meta["ownerReferences"] == [owner_reference(OWNER)]
    assert meta["labels"][OWNER_LABEL] == NAME


def check_rights(said: Body) -> None:
    assert said.keys() <= AS_RESTRICTED
    assert said.get("runAsUser") != 0
    assert said.get("runAsNonRoot", True) is True
    assert said.get("allowPrivilegeEscalation", False) is False
    assert said.get("capabilities", {"drop": ["ALL"]}) == {"drop": ["ALL"]}


def check_volumes(volumes: list[Body], mounts: list[Body]) -> None:
    """PVCs, images, memory and the volumes that users may mount. Of the operator's PVCs only paths below their root."""
    for volume in volumes:
        assert volume.keys() <= OF_VOLUME
        claim = volume.get("persistentVolumeClaim") if volume["name"].startswith("specdec-") else None
        assert claim is None or "/" not in claim["claimName"]
    for mount in mounts:
        parts = mount.get("subPath", "x").split("/")
        assert not {"", ".", ".."} & set(parts), mount
        assert not set(mount["subPath"]) & set("\0\n$") if "subPath" in mount else True


def check_flags(plans: list[Plan]) -> None:
    """No flag of the operator's has a second value, as the engine reads the line in the end, if it starts with it."""
    for each, evil in product(plans, EVIL):
        args = render(each, OWNER).manifest["spec"]["predictor"]["model"]["args"]
        line = [engine_line.expand(arg, {"EVIL": evil}) for arg in ("--port=8080", *args)]
        try:
            values = engine_line.read(line)
        except engine_line.NotRead:
            continue
        assert {flag: len(values.get(flag, ())) for flag in ONCE if len(values.get(flag, ())) > 1} == {}
        assert values["port"] == ["8080"]
        assert values["model"] == [each.layout.target]
        assert "config" not in values
        assert engine_line.POSITIONAL not in values
        check_guesses(values.get("speculative_config"), each)


def check_guesses(given: list[str] | None, made: Plan) -> None:
    """The object is the one that was planned, whatever variables hold."""
    assert (given is None) == (made.speculation is None)
    if given is not None and made.speculation is not None:
        pairs = json.loads(given[0], object_pairs_hook=lambda found: [key for key, _ in found])
        assert len(pairs) == len(set(pairs))
        assert json.loads(given[0])["method"] in (made.speculation.method, "mtp", "deepseek_mtp")


@pytest.mark.parametrize("before", [[], ["--seed=1"], ["--enable-lora"], ["--seed"]], ids=str)
def test_every_word_of_the_corpus_is_refused_or_harmless(before: list[str]) -> None:
    """Each by itself and behind other flags, so that none depends on chance."""
    for arg in FLAGS:
        spec = {"model": {"uri": "pvc://x"}, "engine": {"accelerator": "cpu", "args": [*before, arg]}}
        for each, evil in product(planned(spec)[1], EVIL):
            line = [engine_line.expand(one, {"EVIL": evil}) for one in ("--port=8080", *each.args)]
            try:
                values = engine_line.read(line)
            except engine_line.NotRead:
                continue
            assert (values["port"], values["model"]) == (["8080"], [each.layout.target]), arg
            assert not values.keys() & {"config", "speculative_config", engine_line.POSITIONAL}, arg


@pytest.mark.parametrize("uri", URIS)
def test_every_uri_of_the_corpus_is_refused_or_stays_inside(uri: str) -> None:
    """Refused with the field that is wrong, or mounted below the root of a PVC of this namespace."""
    _, plans = planned({"model": {"uri": uri}, "engine": {"accelerator": "cpu"}})
    for each in plans:
        predictor = render(each, OWNER).manifest["spec"]["predictor"]
        check_volumes(predictor["volumes"], predictor["model"]["volumeMounts"])


@pytest.mark.parametrize("label", [OWNER_LABEL, REVISION_LABEL, STAGING_LABEL])
def test_labels_of_the_operators_own_are_refused(label: str) -> None:
    """A pod with the one of a download would never be measured."""
    spec = {"model": {"uri": "pvc://x"}, "engine": {"accelerator": "cpu"}, "pod": {"labels": {label: "target"}}}
    with pytest.raises(Invalid, match=r"spec\.pod\.labels\[.*reserved for the operator"):
        plan(read_sis(body_of(spec)).spec, make_state(), name=NAME)


@pytest.mark.parametrize("variable", [{}, {"name": ""}, {"name": 5}, {"value": "x"}])
def test_a_variable_of_a_download_has_a_name(variable: Body) -> None:
    spec = SOUND[-1] | {"staging": SOUND[-1]["staging"] | {"env": [{"name": "A"}, variable]}}
    read, plans = planned(spec)
    written = read.model_dump(mode="json", by_alias=True, exclude_none=True)
    with pytest.raises(Invalid, match=r"spec\.staging\.env\[1\]: .*a variable must have a name"):
        job_manifest(
            OWNER,
            plans[0].layout.downloads[0],
            image="i",
            claim="c",
            staging=written["staging"],
            pod={},
            keep=(),
            attempt=1,
        )


@pytest.mark.parametrize(
    ("part", "field"),
    [
        ({"model": {"uri": "pvc://x", "name": "{{.Name}}"}}, r"spec\.model\.name"),
        ({"engine": {"env": [{"name": "A", "value": "{{ x }}"}]}}, r"spec\.engine\.env\[0\]\.value"),
        ({"resources": {"limits": {"{{.Name}}": "1"}}}, r"spec\.resources\.limits\.\{\{\.Name\}\}"),
        ({"engine": {"args": ["--chat-template={{x}}"]}}, r"spec\.engine\.args\[0\]"),
    ],
)
def test_nothing_in_the_engines_container_is_a_template(part: Body, field: str) -> None:
    """KServe expands the whole container; annotations of pods are not in it."""
    spec = {"model": {"uri": "pvc://x"}, "pod": {"annotations": {"vault": "{{ .Data }}"}}}
    with pytest.raises(Invalid, match=f"^{field}: .*KServe expands"):
        plan(read_sis(body_of(spec | part)).spec, make_state(), name=NAME)
    assert plan(read_sis(body_of(spec)).spec, make_state(), name=NAME).refused == ()


def test_a_variable_in_an_option_stays_text() -> None:
    """Else what it holds could end the text and begin another key."""
    guessing = {"method": "ngram", "tokens": 3, "options": {"moe_backend": "$(EVIL)"}}
    _, plans = planned({"model": {"uri": "pvc://x"}, "engine": {"accelerator": "cpu"}, "speculation": guessing})
    line = [engine_line.expand(arg, {"EVIL": '","method":"eagle'}) for arg in plans[0].args]
    (config,) = engine_line.read(line)["speculative_config"]
    assert json.loads(config)["moe_backend"] == "$(EVIL)"
    assert json.loads(config)["method"] == "ngram"
