"""`specdec recommend` as a shell sees it: what it prints, and that what it prints can be applied."""

import json
import pathlib
from typing import Any

import pytest
import typer
import yaml
from tests.unit.advice.test_recommend import EAGLE3, GLM, LLAMA
from typer.testing import CliRunner

from specdec_command.cli.recommend import recommend
from specdec_command.validation.check import check_document
from specdec_command.validation.documents import documents
from specdec_engine.rule import Severity

APP = typer.Typer()
APP.command()(recommend)
RUNNER = CliRunner()


def folder(place: pathlib.Path, config: Any) -> str:
    place.mkdir()
    (place / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return str(place)


def run(*words: str, code: int = 0) -> str:
    """What is printed; nothing else goes to standard error."""
    shown = RUNNER.invoke(APP, list(words))
    assert shown.exit_code == code, shown.output
    assert code or shown.stderr == ""
    return shown.stdout if code == 0 else shown.stderr


def refused(text: str) -> list[str]:
    (document,) = documents(text)
    return [each.message for each in check_document(document) if each.severity is Severity.REFUSED]


@pytest.mark.parametrize(
    "words",
    [
        ("llama-3",),
        ("Qwen/Qwen3-8B", "--workload", "code"),
        ("glm-4.6", "--accelerator", "ascend", "--concurrency", "16"),
        ("deepseek-v3", "--tensor-parallel", "8", "--concurrency", "64", "--temperature", "0.7"),
        ("llama-3", "--draft", "pvc://models/eagle3", "--draft-kind", "eagle3", "--engine-version", "0.20.2"),
        ("llama-3", "--draft", "pvc://models/small", "--draft-kind", "draft_model", "--accelerator", "cpu"),
    ],
)
def test_the_yaml_is_a_sis_that_validate_takes(words: tuple[str, ...]) -> None:
    """It is piped into `kubectl apply -f -`; the reasons are comments."""
    text = run(*words, "--format", "yaml")
    assert refused(text) == []
    assert text.startswith("# ")
    assert "source" not in yaml.safe_load(text)


def test_people_read_the_reasons_and_the_sis() -> None:
    """The answer first, each method with its standing, the service last."""
    text = run("glm-4.5")
    assert text.startswith("Use mtp with K 1: expect 1.30 to 2.00 times as fast with 4 requests at once.")
    assert all(word in text for word in ("fits", "poor", "missing", "refused"))
    assert yaml.safe_load(text.rpartition("---\n")[2])["spec"]["speculation"] == {"method": "mtp", "tokens": 1}


@pytest.mark.parametrize("model", ["Qwen/Qwen3.6-27B-FP8", "Qwen/Qwen3.8-27B", "qwen3_5", "qwen3.5"])
def test_the_family_that_is_met_most_fits_its_own_heads(model: str) -> None:
    """Never the advice of Qwen3, and nothing is claimed from a file that was not read."""
    text = run(model, "--format", "yaml")
    assert yaml.safe_load(text)["spec"]["speculation"]["method"] == "mtp"
    assert "config.json]" not in text


@pytest.mark.parametrize("uri", ["hf://openai/gpt-oss-120b:main", "hf://Qwen/Qwen3.6-27B", "s3://models/Qwen3-8B"])
def test_a_uri_stays(uri: str) -> None:
    """Also with a revision."""
    assert yaml.safe_load(run(uri, "--format", "yaml"))["spec"]["model"]["uri"] == uri


@pytest.mark.parametrize("word", ["pvc://models/nobody", "Qwen/Qwen3.7-32B", "hf://acme/nobody"])
def test_what_is_not_known_is_an_error_with_the_way_out(word: str) -> None:
    """An unknown member of a known series gets no other family's advice."""
    assert "pass the target's config.json" in run(word, code=2)


def test_programs_read_everything() -> None:
    """Candidates with their reasons and sources, steps, and the service."""
    found = json.loads(run("llama-3", "--format", "json"))
    assert found["choice"] is None
    assert {each["method"] for each in found["candidates"]} >= {"eagle3", "mtp", "ngram", "dflash"}
    assert all(each["source"] for candidate in found["candidates"] for each in candidate["reasons"])
    assert found["sis"]["spec"] == {"model": {"uri": "pvc://models/llama-3"}, "engine": {"accelerator": "nvidia"}}


def test_a_wrong_lever_comes_first() -> None:
    text = run("glm-4.5", "--uses", "min_p", "--uses", "structured_output", "--format", "yaml")
    assert text.startswith("# Recommendation: no speculation. The reasons are below.\n# Because clients send min_p")
    assert "speculation" not in yaml.safe_load(text)["spec"]


def test_models_are_read_from_their_folders(tmp_path: pathlib.Path) -> None:
    """The target's config shows the family and the heads. The draft's config shows its kind."""
    target = folder(tmp_path / "Glm 4 test", GLM)
    found = yaml.safe_load(run(target, "--format", "yaml"))
    assert found["metadata"]["name"] == "glm-4-test"
    assert found["spec"]["speculation"]["method"] == "mtp"
    llama = folder(tmp_path / "8b-llama", LLAMA)
    draft = folder(tmp_path / "head", EAGLE3)
    words = (
        f"{llama}/config.json",
        "--draft",
        "pvc://models/head",
        "--draft-config",
        draft,
        "--model-uri",
        "pvc://models/8b",
    )
    found = yaml.safe_load(run(*words, "--name", "chat", "--format", "yaml"))
    assert found["metadata"]["name"] == "chat"
    assert found["spec"]["model"] == {"uri": "pvc://models/8b"}
    assert found["spec"]["speculation"] == {"method": "eagle3", "tokens": 3, "draft": {"uri": "pvc://models/head"}}


def test_an_image_of_ones_own_is_named_in_the_sis() -> None:
    """suffix needs a package that this project's images do not hold."""
    words = ("llama-3", "--workload", "agentic", "--package", "arctic-inference", "--image", "team/vllm:1")
    spec = yaml.safe_load(run(*words, "--format", "yaml"))["spec"]
    assert spec["speculation"] == {"method": "suffix"}
    assert spec["engine"]["image"] == "team/vllm:1"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("blockchain",), "'blockchain' is not a file or a known family"),
        (("x" * 5000,), "is not a file or a known family"),
        (("llama-3", "--engine-version", "latest"), "not an engine version"),
        (("llama-3", "--draft", "pvc://models/x"), "--draft needs --draft-kind"),
        (("llama-3", "--draft-kind", "eagle3"), "--draft is the location of the draft"),
        (("llama-3", "--model-uri", "ftp://models/x"), "spec.model.uri"),
        (("llama-3", "--name", "UPPER"), "metadata.name"),
        (("llama-3", "--concurrency", "0"), "concurrency"),
    ],
)
def test_what_cannot_be_answered_is_an_error(words: tuple[str, ...], said: str) -> None:
    assert said in run(*words, code=2)


@pytest.mark.parametrize("content", ["", "[]", "{", '"text"'])
def test_an_invalid_config_is_an_error(tmp_path: pathlib.Path, content: str) -> None:
    (tmp_path / "config.json").write_text(content, encoding="utf-8")
    assert "config.json" in run(str(tmp_path), code=2)


def test_odd_configs_are_answered(tmp_path: pathlib.Path) -> None:
    """Wrong types everywhere in a config: an answer or an error, never a traceback."""
    for index, config in enumerate(({}, {"model_type": 3}, {"architectures": {}}, dict.fromkeys(LLAMA, "x"))):
        shown = RUNNER.invoke(APP, [folder(tmp_path / f"odd-{index}", config), "--format", "yaml"])
        assert shown.exit_code in (0, 2)
        assert shown.exception is None or isinstance(shown.exception, SystemExit)
