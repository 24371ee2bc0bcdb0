"""`specdec preflight` as a shell sees it."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.unit.builders import make_sis
from tests.unit.runtime import models
from typer.testing import CliRunner

from specdec_command.cli.commands import application


@pytest.fixture
def target(tmp_path: Path) -> str:
    return str(models.llama(tmp_path / "target"))


@pytest.fixture
def draft(tmp_path: Path) -> str:
    return str(models.llama(tmp_path / "draft", num_hidden_layers=1))


def run(*words: str) -> tuple[int, str]:
    result = CliRunner(env={"COLUMNS": "500"}).invoke(application(), ["preflight", *words])
    return result.exit_code, result.output


def found(*words: str) -> list[dict[str, Any]]:
    code, out = run(*words, "--output", "json")
    findings: list[dict[str, Any]] = json.loads(out)
    assert code == int(any(each["severity"] == "refuse" for each in findings))
    return findings


def service(folder: Path, speculation: dict[str, Any] | None = None, **engine: Any) -> str:
    body = make_sis(engine={"accelerator": "nvidia"} | engine, speculation=speculation)
    del body["status"]
    (folder / "service.yaml").write_text(yaml.safe_dump(body))
    return str(folder / "service.yaml")


def test_a_good_pair_ends_with_zero(target: str, draft: str) -> None:
    assert run(target, draft) == (0, "draft_model: no problem found\n")
    assert run(target) == (0, "no speculation: no problem found\n")


def test_a_refused_pair_ends_with_code_1_and_the_reason(target: str, draft: str) -> None:
    (Path(draft) / "config.json").unlink()
    code, out = run(target, draft)
    assert code == 1
    assert "DraftConfigInvalid" in out
    assert "copy the whole model folder again" in out
    assert "1 of 1 findings prevent a start" in out


def test_a_warning_does_not_refuse(target: str, tmp_path: Path) -> None:
    """And the context length is that of the server."""
    short = str(models.llama(tmp_path / "short", max_position_embeddings=256))
    assert [each["id"] for each in found(target, short, "--max-model-len", "1024")] == ["DraftContextShort"]
    assert found(target, short) == []


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        (["--method", "suffix", "--tokens", "16"], []),
        (["--method", "suffix", "--tokens", "16", "--accelerator", "ascend"], ["NpuTokensTooMany"]),
        (["--method", "mlp_speculator", "--vllm", "0.32.0"], ["MethodNotInEngine"]),
    ],
)
def test_the_engine_is_the_one_that_is_named(target: str, options: list[str], ids: list[str]) -> None:
    assert [each["id"] for each in found(target, *options)] == ids


def test_an_invalid_version_is_a_usage_error(target: str) -> None:
    """Otherwise the command would skip checks without an error."""
    code, out = run(target, "--vllm", "latest")
    assert code == 2
    assert "write it as 0.33" in out


def test_a_folder_that_is_not_there_is_a_usage_error(tmp_path: Path) -> None:
    assert run(str(tmp_path / "gone"))[0] == 2


def test_the_flags_of_a_sis_are_those_that_the_operator_renders(target: str, draft: str, tmp_path: Path) -> None:
    """Method, tokens, context and accelerator come from it; the folders from the command line."""
    asked = {"method": "draft_model", "tokens": 4, "draft": {"uri": "hf://org/draft:main"}}
    file = service(tmp_path, asked, maxModelLen=2048)
    assert [each["id"] for each in found(target, draft, "--service", file)] == ["DraftContextShort"]


def test_a_service_and_the_command_line_name_the_same_folders(target: str, draft: str, tmp_path: Path) -> None:
    """A draft that is not looked at would be one that nothing stands against."""
    asked = {"method": "draft_model", "tokens": 4, "draft": {"uri": "hf://org/draft:main"}}
    file = service(tmp_path, asked)
    code, out = run(target, "--service", file)
    assert code == 2
    assert "needs a draft" in out
    code, out = run(target, draft, "--service", file, "--tokens", "3")
    assert code == 2
    assert "remove the other options" in out


def test_a_model_of_the_hub_is_not_a_folder() -> None:
    """A user who names the model as elsewhere reads which input preflight needs."""
    code, out = run("Qwen/Qwen3-8B")
    rule = "preflight reads the folder of a downloaded model, with its config.json"
    assert (code, out) == (2, f"error: Qwen/Qwen3-8B: no such folder; {rule}\n")
