"""Manifests and command lines as people write them, each with the right answer: tests/data/import."""

import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from specdec_command.cli.commands import application

FOLDER = pathlib.Path(__file__).parents[2] / "data" / "import"
LISTS = ("answers.yaml", "answers-of-scripts.yaml")
ANSWERS: list[dict[str, Any]] = [each for name in LISTS for each in yaml.safe_load((FOLDER / name).read_text())]


def run(*words: str, text: str | None = None) -> tuple[int, str, str]:
    result = CliRunner().invoke(application(), list(words), input=text)
    return result.exit_code, result.stdout, result.stderr


def named(answer: dict[str, Any]) -> str:
    return str(answer.get("file") or " ".join(answer["words"])[:60])


def differences(wanted: Any, found: Any, path: str) -> Iterator[str]:
    """Each place whose value differs from the answer; null: it must be absent."""
    if isinstance(wanted, dict):
        for key, value in wanted.items():
            yield from differences(value, found.get(key) if isinstance(found, dict) else None, f"{path}.{key}")
    elif wanted != found:
        yield f"{path}: {found!r} instead of {wanted!r}"


@pytest.mark.parametrize("answer", ANSWERS, ids=named)
def test_the_answer_is_right(answer: dict[str, Any]) -> None:
    """Exit code, service, comments and errors; and never the texts that must not be shown."""
    words = [str(FOLDER / answer["file"])] if "file" in answer else ["--", *answer["words"]]
    code, out, err = run("import", *words)
    assert code == answer["code"], err
    if code in (1, 2):
        assert out == ""
    else:
        spec = yaml.safe_load(out)["spec"]
        assert list(differences(answer.get("spec", {}), spec, "spec")) == []
        assert ("# NOT CARRIED OVER" in out) == (code == 3)
    assert [each for each in answer.get("out", ()) if each not in out] == []
    assert [each for each in answer.get("err", ()) if each not in err] == []
    assert [each for each in answer.get("never", ()) if each in out + err] == []
    if rendered := answer.get("rendered"):
        args = yaml.safe_load(run("render", "-", text=out)[1])["spec"]["predictor"]["model"]["args"]
        assert set(rendered) <= set(args)


def test_every_input_has_an_answer() -> None:
    """An input without an answer would test nothing."""
    lists = list(FOLDER.glob("answers*.yaml"))
    told = {each.get("file") for name in lists for each in yaml.safe_load(name.read_text())}
    assert {each.name for each in FOLDER.glob("*.yaml")} - {each.name for each in lists} == told - {None}
