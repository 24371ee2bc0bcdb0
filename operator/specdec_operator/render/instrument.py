"""How the engine's container is started, probed and stopped: by the specdec_runtime of its image, by one that an init
container brings, or without any. Pure.
"""

from typing import Any, Final, TypeAlias

from specdec_engine.accelerators import Accelerator
from specdec_engine.found_engine import VARIABLE
from specdec_operator.api.engine import Engine
from specdec_operator.api.pod import Pod
from specdec_operator.engine.instrument import Instrument
from specdec_operator.names import DIAL_ANNOTATION, REVISION_LABEL
from specdec_operator.observe.pods import ENGINE_PORT
from specdec_operator.render.plan import Plan
from specdec_operator.staging.layout import RUNTIME_PATH

Manifest: TypeAlias = dict[str, Any]
_FROM: Final = "/opt/specdec-runtime"
"""Where the operator's image has it (Dockerfile.operator)."""
_NAME: Final = "specdec-runtime"
_DIAL: Final = "specdec-dial"
_DIAL_PATH: Final = "/etc/specdec/dial"
"""Where specdec_runtime looks for the files of its dial."""
_USER: Final = 65532
_NPU_GROUP: Final = 1000
"""HwHiAiUser, to which the driver of NPUs gives their device files."""
_MIDDLEWARES: Final = ("--middleware=specdec_runtime.leaving.Leaving", "--middleware=specdec_runtime.facts.Facts")
PLAIN: Final = """\
import os, sys
words = [each for each in sys.argv[1:] if not each.startswith("--middleware=specdec_runtime.")]
os.execv(sys.executable, [sys.executable, "-m", "vllm.entrypoints.cli.main", "serve", *words])
"""
"""`vllm serve` with the flags of the operator's runtime, except those that need specdec_runtime."""
_SETTLE: Final = ("sleep", "5")
"""Seconds in which services still send clients to a pod that is on its way out."""
_START_TIMEOUT: Final = 1800.0
_PROBE_PERIOD: Final = 3
_PROBE_TIMEOUT: Final = 30
_HANGING_GRACE: Final = 10
"""Seconds until an engine that hangs is killed: it cannot finish what a drain would wait for."""


def port_of(engine: Engine) -> int:
    """The port that the engine listens on."""
    return engine.port or ENGINE_PORT


def probes(plan: Plan, drain: int) -> Manifest:
    """How a pod is found up and ready, and what it does before it stops. drain: seconds for which it waits at most."""
    engine = plan.spec.engine
    port, has = port_of(engine), plan.instrument.how is not Instrument.NONE
    health = {"httpGet": {"path": "/health", "port": port}}
    stop = [*_program(plan), "drain", f"--port={port}", f"--timeout={drain}"] if has else list(_SETTLE)
    keeps = not has and plan.instrument.foreign_runtime  # its own hook, if it has one
    return {
        "startupProbe": {
            **({"exec": {"command": [*_program(plan), "prove", f"--port={port}"]}} if has else health),
            "periodSeconds": _PROBE_PERIOD,
            "timeoutSeconds": _PROBE_TIMEOUT,
            "failureThreshold": max(1, round((engine.start_timeout or _START_TIMEOUT) / _PROBE_PERIOD)),
        },
        "readinessProbe": {**health, "periodSeconds": 5, "timeoutSeconds": 5},
        **_alive(plan, port),
        **({} if keeps else {"lifecycle": {"preStop": {"exec": {"command": stop}}}}),
    }


def _alive(plan: Plan, port: int) -> Manifest:
    """The liveness probe: the user's, or the operator's where the pod can run it."""
    if plan.spec.engine.liveness_probe is not None:
        return {"livenessProbe": plan.spec.engine.liveness_probe}
    return {"livenessProbe": _liveness(plan, port)} if _is_of_this_release(plan) else {}


def _liveness(plan: Plan, port: int) -> Manifest:
    """Ends an engine that hangs: after four minutes of silence, three probes in a row that get no token."""
    return {
        "exec": {"command": [*_program(plan), "alive", f"--port={port}"]},
        "periodSeconds": _PROBE_TIMEOUT,
        "timeoutSeconds": _PROBE_TIMEOUT,
        "failureThreshold": 3,
        "terminationGracePeriodSeconds": _HANGING_GRACE,
    }


def _is_of_this_release(plan: Plan) -> bool:
    """Whether the pod's specdec_runtime is certain to be of this release: an older one does not have the command of the
    liveness probe, and one that cannot run would end each engine.
    """
    found = plan.instrument
    own = found.how is Instrument.IMAGE and not plan.spec.engine.image and not found.foreign_runtime
    return own or found.how is Instrument.INJECT


def has_dial(plan: Plan) -> bool:
    """Whether the pods are to have a dial: they speculate, and their specdec_runtime is certain to know it."""
    return plan.spec.guard.dials and plan.speculation is not None and _is_of_this_release(plan)


def dial_volume(plan: Plan) -> list[Manifest]:
    """The pod's own annotation and revision as files, which the kubelet keeps as the API server has them."""
    if not has_dial(plan):
        return []
    items = [
        {"path": path, "fieldRef": {"fieldPath": f"metadata.{field}"}}
        for path, field in (
            ("setting", f"annotations['{DIAL_ANNOTATION}']"),
            ("revision", f"labels['{REVISION_LABEL}']"),
        )
    ]
    return [{"name": _DIAL, "downwardAPI": {"items": items}}]


def _program(plan: Plan) -> list[str]:
    """specdec_runtime, as the container finds it. A folder is run by its name: PYTHONPATH stays the image's own."""
    injects = plan.instrument.how is Instrument.INJECT
    return ["python3", RUNTIME_PATH] if injects else ["python3", "-m", "specdec_runtime"]


def command(plan: Plan) -> Manifest:
    """The command, where that of the runtime cannot start the image."""
    found = plan.instrument
    if found.how is Instrument.INJECT:
        return {"command": [*_program(plan), "serve"]}
    if found.how is Instrument.NONE and not found.foreign_runtime:
        return {"command": ["python3", "-c", PLAIN]}
    return {}


def further_flags(plan: Plan) -> tuple[str, ...]:
    """Flags that the operator's own runtimes have."""
    found = plan.instrument
    return _MIDDLEWARES if found.how is Instrument.INJECT and found.foreign_runtime else ()


def environment(plan: Plan) -> list[Any]:
    """The container's variables. The images of others have no home for a user that is not root; the user's own win.

    Preflight compares the engine in the image with the one of the plan.
    """
    given = plan.spec.engine.env or []
    named = {each.get("name") for each in given}
    homes = {"HOME": "/tmp", "USER": "specdec"} if plan.instrument.foreign_image else {}  # noqa: S108 - each pod's own
    engine = {} if plan.instrument.how is Instrument.NONE else {VARIABLE: str(plan.build)}
    own = {**homes, **engine}
    return [*({"name": name, "value": value} for name, value in own.items() if name not in named), *given]


def security(plan: Plan) -> Manifest:
    """As whom the container runs. The images of others run as root, and no runtime of the operator's lets them."""
    engine, pod = plan.spec.engine, plan.spec.pod or Pod()
    own = engine.security_context
    said: Manifest = own.model_dump(mode="json", by_alias=True, exclude_none=True) if own else {}
    if not plan.instrument.foreign_image:
        return said
    of_pod = (
        pod.security_context.model_dump(mode="json", by_alias=True, exclude_none=True) if pod.security_context else {}
    )
    npu = {"runAsGroup": _NPU_GROUP} if engine.accelerator is Accelerator.ASCEND else {}
    wanted = {"runAsUser": _USER, **npu}
    return {**{key: value for key, value in wanted.items() if key not in of_pod}, **said}


def mounts(plan: Plan) -> list[Manifest]:
    """Where the engine finds what was brought."""
    brought = plan.instrument.how is Instrument.INJECT
    return [
        *([{"name": _NAME, "mountPath": RUNTIME_PATH, "readOnly": True}] if brought else []),
        *([{"name": _DIAL, "mountPath": _DIAL_PATH, "readOnly": True}] if has_dial(plan) else []),
    ]


def brought(plan: Plan) -> tuple[list[Manifest], Manifest]:
    """The volume of what is brought, and the part of the predictor that brings it; none where nothing is.

    The container passes Pod Security's level `restricted` and a quota that requires requests and limits. Its user is
    the image's, or the one in spec.pod.
    """
    if plan.instrument.how is not Instrument.INJECT:
        return [], {}
    container = {
        "name": _NAME,
        "image": plan.operator_image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["cp", "-R", f"{_FROM}/.", RUNTIME_PATH],
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"cpu": "200m", "memory": "64Mi"}},
        "securityContext": {
            "runAsNonRoot": True,
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "volumeMounts": [{"name": _NAME, "mountPath": RUNTIME_PATH}],
    }
    return [{"name": _NAME, "emptyDir": {"sizeLimit": "16Mi"}}], {"initContainers": [container]}
