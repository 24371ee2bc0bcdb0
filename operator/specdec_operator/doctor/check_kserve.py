"""Kubernetes and KServe: there, of a version that this command knows, and ready."""

import json
from collections.abc import Iterator
from typing import Final

from specdec_operator.cli.found import Found
from specdec_operator.doctor.finding import Area, Finding, Kind, Severity
from specdec_operator.doctor.operators import KSERVE_HOME, operators
from specdec_operator.doctor.picture import Picture
from specdec_operator.staging.detected import Sighted, kserve_of
from specdec_operator.staging.kserve import GAPS, NEWEST, KServe, Version, gap, shown

OLDEST_KUBERNETES: Final[Version] = (1, 29)
"""The first whose validation rules in CRDs are stable."""
OLDEST_KSERVE: Final[Version] = (0, 16)
"""The first that knows the deployment mode Standard by this name."""
INSTALL: Final = "install KServe (https://kserve.github.io/website) in Standard mode"

OLD_KUBERNETES: Final = Kind(
    id="KubernetesOld",
    area=Area.KUBERNETES,
    severity=Severity.FIX,
    when=f"Kubernetes is older than {shown(OLDEST_KUBERNETES)}",
    why="the rules of our CRD need validation rules, which are stable since then",
)
MISSING: Final = Kind(
    id="KServeMissing",
    area=Area.KSERVE,
    severity=Severity.FIX,
    when="the CRD of InferenceServices is not there",
    why="KServe makes the pods, so no service starts",
)
NOT_SERVED: Final = Kind(
    id="KServeNotServed",
    area=Area.KSERVE,
    severity=Severity.FIX,
    when="the CRD is there, and v1beta1 of it is not served",
    why="the operator writes InferenceServices of v1beta1",
)
OLD: Final = Kind(
    id="KServeOld",
    area=Area.KSERVE,
    severity=Severity.FIX,
    when=f"KServe is older than {shown(OLDEST_KSERVE)}",
    why="it does not know the deployment mode Standard by this name, and storageUris not at all",
)
NEW: Final = Kind(
    id="KServeNew",
    area=Area.KSERVE,
    severity=Severity.LOOK,
    when=f"KServe is newer than {shown(NEWEST)}",
    why="its faults are not known here, so nothing warns of them",
)
GAP: Final = Kind(
    id="KServeGap",
    area=Area.KSERVE,
    severity=Severity.LOOK,
    when="this version of KServe cannot bring some artifacts",
    why="a service that asks for it is refused with the same words",
)
NO_CONTROLLER: Final = Kind(
    id="KServeControllerMissing",
    area=Area.KSERVE,
    severity=Severity.FIX,
    when="the Deployment kserve-controller-manager is not in KServe's namespace",
    why="nobody makes pods of InferenceServices",
)
NOT_READY: Final = Kind(
    id="KServeControllerNotReady",
    area=Area.KSERVE,
    severity=Severity.FIX,
    when="none of the controller's pods is available",
    why="nobody makes pods of InferenceServices, and its webhooks refuse them",
)
NO_CONFIG: Final = Kind(
    id="KServeConfigMissing",
    area=Area.KSERVE,
    severity=Severity.FIX,
    when="the ConfigMap inferenceservice-config is not in KServe's namespace",
    why="KServe's controller does not work without it",
)
OTHER_MODE: Final = Kind(
    id="KServeMode",
    area=Area.KSERVE,
    severity=Severity.LOOK,
    when="the cluster's default deployment mode is not Standard",
    why="services say Standard themselves and run, but such a KServe also waits for Knative or its ingress",
)
KINDS: Final = (
    OLD_KUBERNETES,
    MISSING,
    NOT_SERVED,
    OLD,
    NEW,
    GAP,
    NO_CONTROLLER,
    NOT_READY,
    NO_CONFIG,
    OTHER_MODE,
)


def kserve(picture: Picture) -> KServe:
    """What is known of the cluster's KServe, read as the operator reads it."""
    found = operators(picture.operators)
    told = found[0].settings.get("SPECDEC_KSERVE_VERSION", "") if found else ""
    looks = (picture.kserve_crd, picture.controller, picture.config, picture.containers, picture.version)
    crd, controller, config, containers, version = (each.body.value if each.there else None for each in looks)
    return kserve_of(
        Sighted(
            crd=crd,  # type: ignore[arg-type] # there means a mapping
            controller=controller,  # type: ignore[arg-type]
            config=config,  # type: ignore[arg-type]
            containers=containers,  # type: ignore[arg-type]
            kubernetes=version,  # type: ignore[arg-type]
            told=told,
        )
    )


def check(picture: Picture) -> Iterator[Finding]:
    """Everything about Kubernetes and KServe."""
    known = kserve(picture)
    if known.kubernetes is not None and known.kubernetes < OLDEST_KUBERNETES:
        fix = f"upgrade the cluster to {shown(OLDEST_KUBERNETES)} or newer"
        yield OLD_KUBERNETES.found("", f"this is Kubernetes {shown(known.kubernetes)}", fix)
    if picture.kserve_crd.missing:
        yield MISSING.found("", "the cluster has no InferenceServices", INSTALL)
        return
    yield from _served(picture.kserve_crd.body)
    yield from _version(known)
    yield from _controller(picture)
    yield from _config(picture)


def _served(crd: Found) -> Iterator[Finding]:
    versions = crd.of("spec", "versions").items
    if crd.there and not any(each.of("name").text == "v1beta1" and each.of("served").flag for each in versions):
        have = ", ".join(each.of("name").text for each in versions if each.of("served").flag) or "no version"
        yield NOT_SERVED.found("", f"the CRD of InferenceServices serves {have}", f"{INSTALL}, 0.20 or near it")


def _version(known: KServe) -> Iterator[Finding]:
    if known.version is None:
        return
    this = f"this is KServe {shown(known.version)} ({known.seen})"
    if known.version < OLDEST_KSERVE:
        yield OLD.found("", this, f"upgrade KServe to 0.20, or at least to {shown(OLDEST_KSERVE)}")
        return
    if known.version > NEWEST:
        yield NEW.found("", this, "look whether a newer specdec-operator knows it")
    for need in dict.fromkeys(each.need for each in GAPS):
        if found := gap(need, known.version):
            what = f"{need.value}: KServe {shown(known.version)} {found.says}"
            yield GAP.found("", what, f"where services ask for it: {found.has}")


def _controller(picture: Picture) -> Iterator[Finding]:
    namespace, look = _home(picture), picture.controller
    about = f"{namespace}/kserve-controller-manager"
    if look.missing:
        fix = f"{INSTALL}; where it is in another namespace, set SPECDEC_KSERVE_NAMESPACE of the operator to it"
        yield NO_CONTROLLER.found(about, f"namespace {namespace} has no Deployment kserve-controller-manager", fix)
    elif look.there and not look.body.of("status", "availableReplicas").whole:
        fix = f"kubectl -n {namespace} describe pods -l control-plane=kserve-controller-manager"
        yield NOT_READY.found(about, "no pod of KServe's controller is available", fix)


def _config(picture: Picture) -> Iterator[Finding]:
    namespace, look = _home(picture), picture.config
    about = f"{namespace}/inferenceservice-config"
    if look.missing:
        yield NO_CONFIG.found(about, f"namespace {namespace} has no ConfigMap inferenceservice-config", INSTALL)
    mode = _mode(look.body.of("data", "deploy").text)
    if mode not in ("", "Standard", "RawDeployment"):
        fix = "set deploy.defaultDeploymentMode to Standard in that ConfigMap unless Knative is meant to be there"
        yield OTHER_MODE.found(about, f"KServe's default deployment mode is {mode}", fix)


def _mode(text: str) -> str:
    try:
        return Found(json.loads(text or "{}")).of("defaultDeploymentMode").text
    except ValueError:
        return ""


def _home(picture: Picture) -> str:
    found = operators(picture.operators)
    return found[0].kserve_namespace if found else KSERVE_HOME
