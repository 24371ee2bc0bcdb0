"""`specdec guard`: ten lines that the API server takes, or why there are none."""

import pytest
import yaml
from typer.testing import CliRunner

from specdec_command.cli.commands import application
from specdec_command.validation.check import check_document
from specdec_command.validation.documents import Document


@pytest.mark.parametrize(
    ("what", "field"),
    [
        ("isvc/llama", "inferenceServiceRef"),
        ("inferenceservices.serving.kserve.io/llama", "inferenceServiceRef"),
        ("deploy/llama", "deploymentRef"),
        ("Deployment/llama", "deploymentRef"),
    ],
)
def test_the_lines_are_few_and_good(what: str, field: str) -> None:
    said = CliRunner().invoke(application("guard"), ["guard", what, "-n", "team-a"])
    assert said.exit_code == 0
    assert len(said.stdout.splitlines()) <= 10
    body = yaml.safe_load(said.stdout)
    assert body["metadata"] == {"name": "llama", "namespace": "team-a"}
    assert body["spec"] == {field: {"name": "llama"}, "guard": {"mode": "Observe"}}
    assert check_document(Document(data=body, line=1, lines={})) == ()


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("llama", "isvc/NAME"),
        ("isvc/", "isvc/NAME"),
        ("llmisvc/llama", "deploy/llama-kserve"),
        ("pod/llama", "isvc/NAME"),
        (f"isvc/{'a' * 60}", "--name"),
        ("isvc/Llama_1", "must match"),
    ],
)
def test_an_unusable_input_of_the_guard_command_is_an_error(what: str, words: str) -> None:
    said = CliRunner().invoke(application("guard"), ["guard", what])
    assert said.exit_code == 2
    assert words in " ".join(said.output.replace("│", " ").split())
