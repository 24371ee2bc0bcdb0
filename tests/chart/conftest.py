"""Fixtures of the chart's life cycle: the local cluster without an operator, and a release that is removed again.

The other tests of this folder run Helm alone and need no cluster.
"""

import pathlib
from collections.abc import Iterator

import pytest
from hack import images, install
from hack.cluster import kubectl, lifecycle
from hack.helm import chart
from hack.images.__main__ import ensure

from tests.chart import release
from tests.node.conftest import api, model_folder, service  # noqa: F401 - fixtures

CRD = "speculativeinferenceservices.serving.specdec.io"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What uses the cluster is of the node layer."""
    for item in items:
        if pathlib.Path(__file__).parent in item.path.parents and "cluster" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.node)


@pytest.fixture(scope="session")
def cluster() -> Iterator[pathlib.Path]:
    """The kubeconfig of a running cluster without the operator; without it again afterwards."""
    lifecycle.up(print)
    kubeconfig = kubectl.config()
    if install.present():
        pytest.fail("the operator is installed already: `kubectl delete -k manifests/default`, then try again")
    kubectl.apply(kubeconfig, [_restricted()], kubeconfig.parent / "chart-namespace.json")
    yield kubeconfig
    runtimes = ("clusterservingruntimes", "--selector=app.kubernetes.io/part-of=specdec-operator")
    for words in (("crd", CRD), runtimes, ("namespace", chart.NAMESPACE)):
        kubectl.wait(kubeconfig, "delete", *words, "--ignore-not-found")


@pytest.fixture
def installed(cluster: pathlib.Path, tmp_path: pathlib.Path) -> Iterator[release.Release]:
    """A release that is not there yet, and is not there afterwards."""
    made = release.Release(kubeconfig=cluster, folder=tmp_path)
    yield made
    made.ask("uninstall", made.name, "--wait", "--ignore-not-found")
    left = ("pod", f"{made.name}-test", f"--namespace={chart.NAMESPACE}", "--ignore-not-found")  # of `helm test`
    kubectl.ask(cluster, "delete", *left)


@pytest.fixture(scope="session")
def ours(cluster: pathlib.Path) -> dict[str, object]:
    """The values by which the chart runs this tree's images, which are on the node then."""
    ensure(("operator", "runtime"))
    return release.values(images.refs())


def _restricted() -> dict[str, object]:
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": chart.NAMESPACE, "labels": labels}}
