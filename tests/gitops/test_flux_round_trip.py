"""Flux's own controllers, a Git repository, the operator and a sis: nothing fights, nothing is lost."""

import asyncio
import copy
import pathlib
import subprocess

import pytest
import yaml
from hack.cluster import binaries

from tests.gitops.flux import Flux
from tests.wire.api import ISVC, SIS, Object
from tests.wire.operator import OperatorProcess
from tests.wire.pods import EngineStandIn
from tests.wire.world import NAME, World, sis

pytestmark = pytest.mark.wire

DEGRADED: Object = {"health": "Degraded"}


def manifest(world: World, **changes: Object) -> Object:
    """The sis as Git has it."""
    body = sis(**changes)
    return body | {"metadata": body["metadata"] | {"namespace": world.namespace}}


def text(world: World, **changes: Object) -> str:
    """The same as a file."""
    return yaml.safe_dump(manifest(world, **changes))


def engine(acceptance: float = 0.8, *, speed: float = 400.0, speculative: bool = True) -> EngineStandIn:
    """A pod's engine: busy, or idle at speed 0."""
    return EngineStandIn(tokens_per_second=speed, acceptance=acceptance, speculative=speculative)


async def served(world: World, flux: Flux, busy: EngineStandIn, **changes: Object) -> str:
    """A sis comes out of Git and is watched; Flux waited for it. Returns the commit."""
    commit = flux.repository.commit({"sis.yaml": text(world, **changes)})
    await flux.begin()
    child = await world.child(speculative=True)
    waiting = await flux.waits()
    assert waiting["status"] == "Unknown", "the pods are not there yet"
    await world.roll_out(child, busy)
    await world.phase("Watching")
    assert (await flux.ready("True"))["reason"] == "ReconciliationSucceeded"
    return commit


async def rolled_back(world: World, busy: EngineStandIn) -> Object:
    """The draft goes bad, the guard takes it out, and the baseline pods start."""
    busy.acceptance = 0.02
    child = await world.child(speculative=False)
    await world.roll_out(child, engine(speculative=False))
    return await world.phase("RolledBack")


def owned(body: Object) -> Object:
    """All of the sis that is not its status, and who wrote it last, and when."""
    meta = {key: part for key, part in body["metadata"].items() if key not in ("resourceVersion", "managedFields")}
    managers = [each for each in body["metadata"]["managedFields"] if each.get("subresource") != "status"]
    return {"metadata": meta, "spec": body["spec"], "managers": managers}


async def at_rest(world: World) -> Object:
    """The sis, once it stayed unchanged while its pods were read four times."""
    for _ in range(20):
        before = await world.sis()
        await world.read_again(4)
        after = await world.sis()
        if after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]:
            return after
    raise AssertionError(f"somebody writes all the time: {after['metadata']['managedFields']}")


def kubectl(kubeconfig: pathlib.Path, *words: str) -> tuple[int, str]:
    """The real kubectl: its exit code and its whole output."""
    program = binaries.ensure("kubectl")["kubectl"]
    argv = [str(program), f"--kubeconfig={kubeconfig}", *words]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout + done.stderr


async def test_at_rest_no_manager_writes_and_all_agree(
    world: World, operator: OperatorProcess, flux: Flux, kubeconfig: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """Flux's looks change nothing, `kubectl diff` is empty, and another manager applies the file without a conflict."""
    commit = await served(world, flux, engine(speed=0))
    before = await at_rest(world)
    for _ in range(3):
        assert (await flux.reconciled(commit))["status"] == "True"
    assert await world.sis() == before, "not one write by anybody"
    child = await world.child()
    assert not [key for key in child["metadata"]["labels"] if "fluxcd" in key], "a copied label is pruned as Flux's own"
    file = tmp_path / "sis.yaml"
    file.write_text(text(world))
    for words in (("diff",), ("diff", "--server-side", "--field-manager=somebody")):
        assert await asyncio.to_thread(kubectl, kubeconfig, *words, "-f", str(file)) == (0, "")
    apply = ("apply", "--server-side", "--field-manager=somebody", "-f", str(file))
    code, said = await asyncio.to_thread(kubectl, kubeconfig, *apply)
    assert code == 0, said
    assert (await flux.reconciled(commit))["status"] == "True"
    after = await world.sis()
    assert after["metadata"]["generation"] == before["metadata"]["generation"]
    assert after["spec"] == before["spec"]


async def test_drift_is_put_back_and_a_rollback_is_not_undone(
    world: World, operator: OperatorProcess, flux: Flux
) -> None:
    """Git owns the spec, the guard owns the decision: Flux restores the one and leaves the other."""
    busy = engine()
    commit = await served(world, flux, busy)
    await world.api.merge(SIS, world.namespace, NAME, {"spec": {"guard": {"failureLimit": 5}}})
    assert (await flux.reconciled(commit))["status"] == "True"
    assert (await world.sis())["spec"]["guard"]["failureLimit"] == 2
    await rolled_back(world, busy)
    before = owned(await world.sis())
    for _ in range(2):
        assert (await flux.reconciled(commit))["status"] == "True", "a plain service that answers is healthy"
    assert owned(await world.sis()) == before
    assert (await world.status())["phase"] == "RolledBack"


async def test_a_retry_by_annotation_survives_flux(world: World, operator: OperatorProcess, flux: Flux) -> None:
    """An annotation of a user or of Argo CD's action is not in Git: Flux does not prune it, and it acts once."""
    busy = engine()
    commit = await served(world, flux, busy)
    await rolled_back(world, busy)
    annotation = {"specdec.io/retry": "1"}
    await world.api.merge(SIS, world.namespace, NAME, {"metadata": {"annotations": annotation}})
    child = await world.child(speculative=True)
    await world.roll_out(child, engine())
    await world.phase("Watching")
    for _ in range(2):
        assert (await flux.reconciled(commit))["status"] == "True"
    now = await world.sis()
    assert now["metadata"]["annotations"]["specdec.io/retry"] == "1"
    assert now["status"]["guard"]["rollbacks"] == 1
    assert now["status"]["phase"] in ("WarmingUp", "Watching")


async def test_a_rollback_is_a_failure_if_the_user_sets_degraded(
    world: World, operator: OperatorProcess, flux: Flux
) -> None:
    """`guard.health: Degraded`: Flux's Ready is False, and becomes True by another speculation."""
    busy = engine()
    commit = await served(world, flux, busy, guard=DEGRADED)
    await rolled_back(world, busy)
    failed = await flux.reconciled(commit)
    assert (failed["status"], failed["reason"]) == ("False", "HealthCheckFailed")
    assert NAME in failed["message"]
    other: Object = {"method": "ngram", "tokens": 3}
    commit = flux.repository.commit({"sis.yaml": text(world, guard=DEGRADED, speculation=other)})
    await flux.ask()
    await world.roll_out(await world.child(speculative=True), engine())
    await world.phase("Watching")
    assert (await flux.ready("True"))["message"].endswith(commit)


async def test_what_leaves_git_is_pruned_and_nothing_is_before(
    world: World, operator: OperatorProcess, flux: Flux
) -> None:
    """The sis goes with its file, and the operator's finalizer lets it; what the operator made was never Flux's."""
    await served(world, flux, engine())
    entries = (await flux.status())["inventory"]["entries"]
    assert [each["id"] for each in entries] == [
        f"{world.namespace}_{NAME}_serving.specdec.io_SpeculativeInferenceService"
    ]
    commit = flux.repository.commit({"kustomization.yaml": "resources: []\n"})
    assert (await flux.reconciled(commit))["status"] == "True"
    await world.gone()


async def test_a_forced_replace_loses_no_decision(world: World, operator: OperatorProcess, flux: Flux) -> None:
    """Argo CD's Replace=true puts the whole object: the decision is in the status, which a replace does not touch."""
    busy = engine()
    await served(world, flux, busy)
    before = await rolled_back(world, busy)
    await world.replace(copy.deepcopy(manifest(world)))
    await world.turned(operator)
    after = await world.status()
    assert (after["phase"], after["guard"]["rollback"]) == ("RolledBack", before["guard"]["rollback"])
    assert await world.api.get(ISVC, world.namespace, NAME) is not None
