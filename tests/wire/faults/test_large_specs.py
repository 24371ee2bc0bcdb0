"""Specs as large as the API server accepts them: the operator keeps none, and each status shows the reason."""

import json
import pathlib

import pytest

from tests.wire.api import ISVC, SIS, Object
from tests.wire.faults.table import Part, fault
from tests.wire.operator import OperatorProcess
from tests.wire.waiting import until
from tests.wire.world import NAME, World, sis

pytestmark = pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")
HOSTILE = 20
BYTES = 1_400_000
MOST_MIB = 200


@pytest.fixture
def kubeconfig(alone: pathlib.Path) -> pathlib.Path:
    """Of an API server of its own: garbage collection would read all of it again and again."""
    return alone


def _hostile(number: int) -> Object:
    """Many small parts, which take most memory once they are read, where no schema can bound them."""
    part: Object = {"a": 1}
    body = sis(pod={"affinity": {"junk": [part] * (BYTES // (len(json.dumps(part, separators=(",", ":"))) + 1))}})
    return body | {"metadata": {"name": f"hostile-{number}"}}


def _most_memory(operator: OperatorProcess) -> float:
    """MiB that the process had at most."""
    lines = pathlib.Path(f"/proc/{operator.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


async def _stalled(world: World) -> dict[str, Object]:
    """The status of each hostile service once it is refused; one after the other, for each look reads 1.4 MB."""
    found: dict[str, Object] = {}
    for number in range(HOSTILE):
        name = f"hostile-{number}"

        async def refused(name: str = name) -> Object | None:
            body = await world.api.get(SIS, world.namespace, name)
            status: Object = (body or {}).get("status", {})
            return status if status.get("reason") == "SpecTooLarge" else None

        found[name] = await until(f"the refusal of {name}", refused)
    return found


@fault(
    part=Part.OBJECTS,
    when="20 services with a spec of 1.4 MB each, and a restart of the operator",
    then="SpecTooLarge; the operator stays below 200 MiB",
)
async def test_specs_of_megabytes_are_refused_and_not_kept(world: World, operator: OperatorProcess) -> None:
    """While they come, and when a restarted operator lists them all."""
    for number in range(HOSTILE):
        await world.api.create(SIS, world.namespace, _hostile(number))
    statuses = await _stalled(world)
    first = _most_memory(operator)
    for name, status in statuses.items():
        assert f"the spec of {world.namespace}/{name} has this many bytes" in status["message"]
        assert "reads at most 65536: remove large values from pod" in status["message"]
        assert len(json.dumps(status)) < 10_000
    await operator.stop()
    await operator.start()
    await world.apply(sis())
    await world.child(speculative=True)
    again = _most_memory(operator)
    print(f"{first:.0f} MiB while they come, {again:.0f} MiB after a restart")
    assert [each["metadata"]["name"] for each in await world.api.items(ISVC, world.namespace)] == [NAME]
    assert max(first, again) < MOST_MIB, (first, again)


async def test_a_spec_that_is_made_small_again_is_followed(world: World, operator: OperatorProcess) -> None:
    """The way out: what is large is taken out, and nothing is left of the refusal."""
    await world.api.create(SIS, world.namespace, _hostile(0) | {"metadata": {"name": NAME}})
    await world.told("Stalled", "SpecTooLarge")
    await world.api.merge(SIS, world.namespace, NAME, {"spec": {"pod": None}})
    await world.child(speculative=True)
