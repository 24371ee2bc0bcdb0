"""Labels and annotations of a service: what of them reaches its Deployment and its pods."""

import pytest
import yaml
from typer.testing import CliRunner

from specdec_command.cli.commands import application
from tests.kserve.made import Place
from tests.unit.builders import Body, make_sis

QUEUE = {"kueue.x-k8s.io/queue-name": "team-a"}
CONSOLE = {"example.com/console": "visible"}


def rendered(**parts: Body) -> Body:
    """The InferenceService that `specdec render` prints."""
    result = CliRunner().invoke(application(), ["render", "-"], input=yaml.safe_dump(make_sis(**parts)))
    assert result.exit_code == 0, result.output
    made: Body = yaml.safe_load(result.stdout)
    return made


@pytest.mark.parametrize("labels", [QUEUE, {"networking.kserve.io/visibility": "cluster-local"}], ids=str)
async def test_a_label_reaches_deployment_and_pods(place: Place, labels: dict[str, str]) -> None:
    """Kueue reads its queue on either, as its version does."""
    made = await place.make(rendered(inferenceService={"labels": labels}))
    (pod,) = made.pods
    for meta in (made.deployment["metadata"], made.template["metadata"], pod["metadata"]):
        assert labels.items() <= meta["labels"].items()


async def test_an_annotation_reaches_the_pods(place: Place) -> None:
    """KServe's pod webhook adds two of its own, which switch off what the runtime did not ask for."""
    made = await place.make(rendered(inferenceService={"annotations": CONSOLE}))
    (pod,) = made.pods
    assert CONSOLE.items() <= made.template["metadata"]["annotations"].items()
    added = pod["metadata"]["annotations"].items() - made.template["metadata"]["annotations"].items()
    assert dict(added) == {
        "serving.kserve.io/enable-metric-aggregation": "false",
        "serving.kserve.io/enable-prometheus-scraping": "false",
    }
