"""Specs by chance as a tenant who means ill writes them: what the CRD's schema takes, and texts that try to get out."""

import copy
from typing import Any

from hypothesis import strategies as st

from specdec_operator.names import OWNER_LABEL, REVISION_LABEL, STAGING_LABEL
from tests.unit.specs import SPEC, values

FLAGS = (
    "--port=1",
    "--port",
    "--po=1",
    "--model=/etc",
    "--mod=/etc",
    "-sc",
    "-sc.model=/etc",
    "-s={}",
    "--speculative-conf={}",
    "--speculative_conf.model=/etc",
    "--speculative-config.method=ngram",
    "--spec-meth=ngram",
    "--model.x=1",
    "-tp=8",
    "-t",
    "--max-num-s=1",
    "--no-enforce-e",
    "--conf=/etc/passwd",
    "--",
    "-",
    "--x=--port",
    "--seed",
    "--enable-lora",
    "@/etc/passwd",
    "/etc/passwd",
    "$(EVIL)",
    "--$(EVIL)",
    "--po$(EVIL)=1",
    "--seed=$(EVIL)",
    "--seed={{.Name}}",
    "; rm -rf /",
    "--seed=1 --port=2",
    "--seed=1\n--port=2",
    "--port\0=1",
    "\u2212\u2212port=1",
    "",
)
"""Words that must become no second value of a flag of the operator's."""
TEXTS = ("$(EVIL)", "$$(EVIL)", "{{.Name}}", "`id`", "a\nb", "\0", '","method":"ngram', "--port=1", "../..", "\u202e")
URIS = (
    "pvc://../other",
    "pvc://models/../../etc",
    "pvc://models/%2e%2e/%2e%2e/etc",
    "pvc://team-b/models/llama",
    "pvc:///etc",
    "pvc://models//etc",
    "pvc://models/a\n/b",
    "pvc://models/a\0b",
    "pvc://m\u043edels/x",
    "file:///etc/passwd",
    "/etc/passwd",
    "hf://../..",
    "hf://a/b:../c",
    "https://user:key@host/x.tar",
    "https://169.254.169.254/latest",
    "s3://bucket/../other",
    "oci://registry.example/../x:1",
    "oci+native://registry.example/x:1",
    "hostpath:///etc",
    "",
)
LABELS = (OWNER_LABEL, REVISION_LABEL, STAGING_LABEL, "app", "serving.kserve.io/inferenceservice", "a b", "")
VARIABLES = ("EVIL", "LD_PRELOAD", "PYTHONPATH", "HF_HUB_OFFLINE", "HOME", "STORAGE_ALLOW_PATTERNS")

SOUND: tuple[dict[str, Any], ...] = (
    {"model": {"uri": "pvc://models/target"}, "engine": {"accelerator": "cpu"}},
    {
        "model": {"uri": "pvc://models/target"},
        "engine": {"accelerator": "cpu"},
        "speculation": {"method": "ngram", "tokens": 3},
    },
    {
        "model": {"uri": "pvc://models/target"},
        "engine": {"accelerator": "cpu"},
        "speculation": {"method": "draft_model", "tokens": 4, "draft": {"uri": "pvc://models/draft"}},
    },
    {
        "model": {"uri": "hf://org/target:1"},
        "engine": {"accelerator": "cpu"},
        "speculation": {"method": "draft_model", "tokens": 4, "draft": {"uri": "s3://models/draft"}},
        "staging": {"mode": "PersistentVolumeClaim", "claim": {"storage": "1Gi"}},
    },
)
"""Specs that are served, so that what is made ill about them is not hidden by something else."""

_labels = st.dictionaries(st.sampled_from(LABELS), st.sampled_from(("other", "", "../x")), max_size=3)
_text = st.sampled_from(TEXTS) | st.text(max_size=6)
_secret = st.just({"secretKeyRef": {"name": "s", "key": "k", "namespace": "team-b"}})
_variable = st.fixed_dictionaries(
    {}, optional={"name": st.sampled_from(VARIABLES) | st.integers(), "value": _text, "valueFrom": _secret}
)
_env = st.lists(_variable, max_size=3)
_privileged = st.fixed_dictionaries(
    {},
    optional={
        "hostNetwork": st.just(True),
        "hostPID": st.just(True),
        "securityContext": st.sampled_from(
            ({"privileged": True}, {"runAsUser": 0}, {"runAsNonRoot": False, "sysctls": []})
        ),
        "volumes": st.just([{"name": "root", "hostPath": {"path": "/"}}]),
        "containers": st.just([{"name": "x", "securityContext": {"privileged": True}}]),
        "labels": _labels,
        "annotations": _labels,
        "nodeSelector": _labels,
        "serviceAccountName": st.sampled_from(("reader", "../x", "kube-system/admin")),
        "imagePullSecrets": st.just([{"name": "s", "namespace": "team-b"}]),
        "tolerations": st.just([{"operator": "Exists", "hostPath": "/"}]),
        "affinity": st.just({"volumes": [{"hostPath": {"path": "/"}}]}),
    },
)
_artifact = st.fixed_dictionaries(
    {"uri": st.sampled_from(URIS)}, optional={"path": st.sampled_from(("..", "a/../b", "/etc", "a\nb", "a", "."))}
)
_options = st.dictionaries(
    st.sampled_from(("model", "method", "rejection_sample_method", "foo", "moe_backend", "--port")), _text, max_size=2
)


def _with(path: tuple[str, ...], value: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[tuple[str, ...], Any]]:
    return st.tuples(st.just(path), value)


_rights = st.sampled_from(
    (
        {"privileged": True, "procMount": "Unmasked"},
        {"runAsUser": 0},
        {"allowPrivilegeEscalation": True},
        {"capabilities": {"drop": ["ALL"], "add": ["SYS_ADMIN"]}},
        {"capabilities": {"drop": []}},
    )
)
_CHANGES = st.one_of(
    _with(("engine", "args"), st.lists(st.sampled_from(FLAGS), max_size=4)),
    _with(("engine", "env"), _env),
    _with(("engine", "image"), _text),
    _with(("engine", "securityContext"), _rights),
    _with(("engine", "runtime"), _text),
    _with(("pod",), _privileged),
    _with(("model",), _artifact),
    _with(("model", "name"), _text),
    _with(("pod", "labels"), _labels),
    _with(("speculation", "draft"), _artifact),
    _with(("speculation", "options"), _options),
    _with(("staging", "env"), _env),
    _with(("resources",), st.just({"hostPath": "/", "limits": {"{{.Name}}": "1"}})),
)


@st.composite
def specs(draw: st.DrawFn) -> dict[str, Any]:
    """A spec that the schema takes, with one to three parts of it made ill."""
    spec: dict[str, Any] = copy.deepcopy(draw(st.sampled_from(SOUND) | values(SPEC)))
    for path, value in draw(st.lists(_CHANGES, min_size=1, max_size=3)):
        part = spec
        for step in path[:-1]:
            part = part.setdefault(step, {})
        part[path[-1]] = value
    return spec
