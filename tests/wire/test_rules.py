"""Every rule of the CRD, asked of a real API server: one spec that it refuses and one that it takes."""

import pytest

from tests.rule_cases import CASES, RuleCase, Spec, whole
from tests.wire.api import SIS, Refused
from tests.wire.world import World


async def ask(world: World, spec: Spec) -> None:
    """A dry run of creating it. Raises Refused with the server's message."""
    body = {
        "apiVersion": SIS[0],
        "kind": "SpeculativeInferenceService",
        "metadata": {"name": "asked"},
        "spec": whole(spec),
    }
    path = world.api.path(SIS, world.namespace)
    await world.api.call("post", path, body, query_params=[("dryRun", "All"), ("fieldValidation", "Strict")])


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.field}: {case.message[:30]}")
async def test_the_api_server_refuses_and_takes(world: World, case: RuleCase) -> None:
    """The error has the rule's own message, with its field; tests/unit expects the same of the offline check."""
    with pytest.raises(Refused) as refused:
        await ask(world, case.bad)
    assert case.message in str(refused.value)
    assert f"{case.field}: " in str(refused.value)
    await ask(world, case.good)
