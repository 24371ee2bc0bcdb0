"""The stand-in of KServe as a process, against a real API server, plays the scenes that the real KServe played."""

from __future__ import annotations

import asyncio
import pathlib
import subprocess
import sys
from copy import deepcopy
from typing import TYPE_CHECKING

import pytest
import yaml

from tests.kserve_standin.api import NOT_FOUND, Api, ApiError, path_of
from tests.kserve_standin.install import install
from tests.kserve_standin.live import Live, expectations, until
from tests.kserve_standin.model import ISVC_LABEL, Manifest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

DATA = pathlib.Path(__file__).parents[1] / "data" / "kserve"
ROOT = pathlib.Path(__file__).parents[2]
NAMESPACE = "rec"  # the recordings' own

# Those whose answer only a real API server knows, and one of each thing that the controller does by itself.
SCENES = (
    "recorded/bad-mount-name",
    "played/auto-update-disabled",
    "played/autoscaler-changes",
    "played/credentials-s3-annotations-and-hf",
    "played/hands-off",
    "played/ports-without-names",
    "played/runtime-changes",
    "played/specdec-recreate",
    "played/stop-and-resume",
    "played/two-handlers",
)


@pytest.fixture(scope="module")
def stand_in(kubeconfig: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[pathlib.Path]:
    """The stand-in as `make cluster-up` runs it, but in the recordings' namespace only; yields its log."""
    log = tmp_path_factory.mktemp("stand-in") / "log"
    argv = [sys.executable, "-m", "tests.kserve_standin", "run", "--install-crds"]
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [*argv, f"--kubeconfig={kubeconfig}", f"--namespace={NAMESPACE}"], cwd=ROOT, stderr=output
        ) as it,
    ):
        try:
            yield log
        finally:
            it.terminate()


@pytest.fixture
async def connection(kubeconfig: pathlib.Path, stand_in: pathlib.Path) -> AsyncIterator[Api]:
    """A connection to a cluster that has the recordings' namespace and runtimes, and the stand-in."""
    async with Api.connect(kubeconfig) as api:
        await install(api, None)
        await api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        for runtime in yaml.safe_load_all((DATA / "runtimes.yaml").read_text()):
            await api.apply(runtime)
        yield api


async def play(api: Api, name: str) -> None:
    """Play a scene; after every step the answer becomes KServe's."""
    scene = yaml.safe_load((DATA / f"{name}.yaml").read_text())
    live = Live.of(api, scene)
    await live.open()
    for number, (step, objects, status) in enumerate(expectations(scene)):
        if step is not None:
            await live.change(step)

        async def answered(objects: list[Manifest] = objects, status: Manifest = status) -> bool:
            return await live.snapshot() == (objects, status)

        try:
            await until(answered)
        except TimeoutError:
            found = await live.snapshot()
            assert found == (objects, status), f"{name}, step {number}"  # shows the difference
    await live.close()


async def test_the_controller_answers_as_kserve_did(connection: Api) -> None:
    """All scenes at once: the stand-in keeps many InferenceServices apart."""
    async with asyncio.TaskGroup() as scenes:
        for name in SCENES:
            scenes.create_task(play(connection, name))


async def test_a_deployment_that_only_pretends_to_be_a_predictor_is_deleted(connection: Api) -> None:
    """KServe deletes every Deployment with its two labels and a name that it does not know: never use them."""
    scene = yaml.safe_load((DATA / "played" / "placeholders.yaml").read_text())
    live = Live.of(connection, scene)
    await live.open()
    stranger = deepcopy(scene["objects"][0])
    stranger["metadata"] = {"name": "stranger", "namespace": NAMESPACE, "labels": stranger["metadata"]["labels"]}
    assert ISVC_LABEL in stranger["metadata"]["labels"]
    await connection.create(stranger)
    await connection.patch(live.isvc, {"metadata": {"annotations": {"note": "look again"}}})

    async def is_gone() -> bool:
        try:
            return "deletionTimestamp" in (await connection.get(path_of(stranger)))["metadata"]
        except ApiError as error:
            return error.code == NOT_FOUND

    await until(is_gone)
    await live.close()


async def test_the_stand_in_says_what_it_is(connection: Api, stand_in: pathlib.Path) -> None:
    """Nobody who reads its log, or looks at its CRD, takes it for KServe."""

    async def has_said_so() -> bool:
        return b"this is the KServe stand-in, not KServe" in stand_in.read_bytes()

    await until(has_said_so)
    crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    found = await connection.get(path_of({**crd, "metadata": {"name": "inferenceservices.serving.kserve.io"}}))
    assert found["metadata"]["annotations"]["specdec.io/kserve"] == "stand-in"
