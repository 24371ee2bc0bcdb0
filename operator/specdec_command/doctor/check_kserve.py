"""Kubernetes and KServe: there, of a version that this command knows, and ready."""

import json
from collections.abc import Iterator
from typing import Any, Final

from specdec_command.doctor.finding import OLDEST_KSERVE, OLDEST_KUBERNETES, DoctorFinding, finding
from specdec_command.doctor.objects import KSERVE_HOME, first_operator
from specdec_command.doctor.snapshot import Snapshot
from specdec_operator.display.untrusted import Untrusted
from specdec_operator.staging.compatibility import KSERVE
from specdec_operator.staging.kserve import GAPS, NEWEST, KServe, gap, shown
from specdec_operator.staging.kserve_detect import KServeEvidence, kserve_of

_RUN: Final = shown(max(KSERVE.run))
"""The newest that this project has run."""
INSTALL: Final = "install KServe (https://kserve.github.io/website) in Standard mode"


def kserve(snapshot: Snapshot) -> KServe:
    """What is known of the cluster's KServe, read as the operator reads it."""
    operator = first_operator(snapshot.operators)
    configured = operator.settings.get("SPECDEC_KSERVE_VERSION", "") if operator else ""
    asked = {"crd": snapshot.kserve_crd, "containers": snapshot.containers, "kubernetes": snapshot.version}
    asked |= {"controller": snapshot.controller, "config": snapshot.config}
    read: dict[str, Any] = {name: answer.body.value if answer.there else None for name, answer in asked.items()}
    return kserve_of(KServeEvidence(**read, told=configured))


def check(snapshot: Snapshot) -> Iterator[DoctorFinding]:
    """Everything about Kubernetes and KServe."""
    versions = kserve(snapshot)
    if versions.kubernetes is not None and versions.kubernetes < OLDEST_KUBERNETES:
        fix = f"upgrade the cluster to {shown(OLDEST_KUBERNETES)} or newer"
        yield finding("KubernetesOld", "", f"this is Kubernetes {shown(versions.kubernetes)}", fix)
    if snapshot.kserve_crd.missing:
        yield finding("KServeMissing", "", "the cluster has no InferenceServices", INSTALL)
        return
    yield from _served(snapshot.kserve_crd.body)
    yield from _version(versions)
    yield from _controller(snapshot)
    yield from _config(snapshot)


def _served(crd: Untrusted) -> Iterator[DoctorFinding]:
    versions = crd.of("spec", "versions").items
    if crd.there and not any(each.of("name").text == "v1beta1" and each.of("served").flag for each in versions):
        have = ", ".join(each.of("name").text for each in versions if each.of("served").flag) or "no version"
        what = f"the CRD of InferenceServices serves {have}"
        yield finding("KServeNotServed", "", what, f"{INSTALL}, {_RUN} or a close version")


def _version(there: KServe) -> Iterator[DoctorFinding]:
    if there.version is None:
        return
    this = f"this is KServe {shown(there.version)} ({there.seen})"
    if there.version < OLDEST_KSERVE:
        yield finding("KServeOld", "", this, f"upgrade KServe to {_RUN}, or at least to {shown(OLDEST_KSERVE)}")
        return
    if there.version > NEWEST:
        yield finding("KServeNew", "", this, "check whether a newer specdec-operator supports it")
    for need in dict.fromkeys(each.need for each in GAPS):
        if lack := gap(need, there.version):
            what = f"{need.value}: KServe {shown(there.version)} {lack.says}"
            yield finding("KServeGap", "", what, f"for services that need it: {lack.has}")


def _controller(snapshot: Snapshot) -> Iterator[DoctorFinding]:
    namespace, answer = _home(snapshot), snapshot.controller
    about = f"{namespace}/kserve-controller-manager"
    if answer.missing:
        fix = f"{INSTALL}; if KServe is in another namespace, set SPECDEC_KSERVE_NAMESPACE of the operator"
        what = f"namespace {namespace} has no Deployment kserve-controller-manager"
        yield finding("KServeControllerMissing", about, what, fix)
    elif answer.there and not answer.body.of("status", "availableReplicas").whole:
        fix = f"kubectl -n {namespace} describe pods -l control-plane=kserve-controller-manager"
        yield finding("KServeControllerNotReady", about, "no pod of KServe's controller is available", fix)


def _config(snapshot: Snapshot) -> Iterator[DoctorFinding]:
    namespace, answer = _home(snapshot), snapshot.config
    about = f"{namespace}/inferenceservice-config"
    if answer.missing:
        what = f"namespace {namespace} has no ConfigMap inferenceservice-config"
        yield finding("KServeConfigMissing", about, what, INSTALL)
    mode = _mode(answer.body.of("data", "deploy").text)
    if mode not in ("", "Standard", "RawDeployment"):
        fix = (
            "set deploy.defaultDeploymentMode to Standard in that ConfigMap unless the cluster uses Knative on purpose"
        )
        yield finding("KServeMode", about, f"KServe's default deployment mode is {mode}", fix)


def _mode(text: str) -> str:
    try:
        return Untrusted(json.loads(text or "{}")).of("defaultDeploymentMode").text
    except ValueError:
        return ""


def _home(snapshot: Snapshot) -> str:
    operator = first_operator(snapshot.operators)
    return operator.kserve_namespace if operator else KSERVE_HOME
