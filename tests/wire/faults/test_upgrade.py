"""A CRD that is replaced under a running operator."""

import pathlib

import pytest

from tests.wire.api import Object, documents
from tests.wire.faults.acts import busy, rolled_back_once, still_speculating, verdict, watched
from tests.wire.faults.table import Part, fault
from tests.wire.install import put_definition
from tests.wire.operator import OperatorProcess
from tests.wire.world import World

CRD = pathlib.Path(__file__).parents[3] / "crds" / "serving.specdec.io_speculativeinferenceservices.yaml"


@pytest.fixture
def kubeconfig(own_kubeconfig: pathlib.Path) -> pathlib.Path:
    """The CRD is changed here."""
    return own_kubeconfig


@pytest.fixture
def grown() -> Object:
    """A CRD with one field more in its spec."""
    (crd,) = documents(CRD.read_text())
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"]["properties"]["later"] = {"type": "string"}
    return crd


@fault(
    part=Part.OBJECTS,
    when="a newer CRD replaces the CRD",
    then="no pod changes",
)
async def test_a_crd_that_grows_stops_no_guard(world: World, operator: OperatorProcess, grown: Object) -> None:
    """The watch begins again, and the windows go on."""
    engine = busy()
    await watched(world, engine)
    await put_definition(world.api, grown)
    asked = engine.asked

    async def read_on() -> bool:
        return engine.asked > asked + 3

    await world.until("the pods are read on", read_on)
    await verdict(world, "Accepted")
    await still_speculating(world)
    engine.acceptance = 0.0
    await rolled_back_once(world)
