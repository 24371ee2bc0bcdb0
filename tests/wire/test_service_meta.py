"""Labels and annotations that a platform wants on the InferenceService: carried, put back, rolled out."""

from tests.wire.api import ISVC, Object
from tests.wire.operator import OperatorProcess
from tests.wire.world import NAME, REVISION, World, sis

ASKED: Object = {
    "labels": {"networking.kserve.io/visibility": "cluster-local"},
    "annotations": {"example.com/console": "visible"},
}


async def test_what_a_platform_reads_is_there_and_put_back(world: World, operator: OperatorProcess) -> None:
    """The operator restores it if a user removes it, and another value makes another revision."""
    await world.apply(sis(inferenceService=ASKED))
    child = await world.child()
    carries(child, ASKED)
    before = child["spec"]["predictor"]["labels"][REVISION]
    path = {"metadata": {"annotations": {"example.com/console": None}, "labels": {"theirs": "x"}}}
    await world.api.merge(ISVC, world.namespace, NAME, path)

    async def back() -> Object | None:
        found = await world.child()
        return found if "example.com/console" in found["metadata"]["annotations"] else None

    child = await world.until("the annotation is put back", back)
    carries(child, ASKED | {"labels": ASKED["labels"] | {"theirs": "x"}})
    assert child["spec"]["predictor"]["labels"][REVISION] == before
    await world.apply(sis(inferenceService={"labels": ASKED["labels"]}))

    async def changed() -> Object | None:
        found = await world.child()
        return found if found["spec"]["predictor"]["labels"][REVISION] != before else None

    child = await world.until("another revision", changed)
    assert "example.com/console" not in child["metadata"]["annotations"]


def carries(child: Object, asked: Object) -> None:
    """The InferenceService has these values; lab/staging/matrix_behaviours.py asks for its pods."""
    for part, wanted in asked.items():
        assert wanted.items() <= child["metadata"][part].items()
