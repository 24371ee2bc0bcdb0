"""`specdec validate` as a shell sees it: files, standard input, exit codes, and what it prints."""

import io
import json
import pathlib
import subprocess
import sys
from typing import Any

import pytest
import yaml
from tests.unit.builders import make_sis

from specdec_command.cli import validate

BROKEN = """\
apiVersion: serving.specdec.io/v1alpha1
kind: SpeculativeInferenceService
metadata:
  name: llama
spec:
  model:
    uri: pvc://models/target
  engine:
    accelerator: ascend
  speculation:
    method: ngram
    tokens: 20
"""


def good(**changes: Any) -> str:
    body = make_sis(**changes)
    del body["status"], body["metadata"]["uid"], body["metadata"]["generation"]
    return yaml.safe_dump(body)


@pytest.fixture
def files(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "good.yaml").write_text(good())
    (tmp_path / "broken.yaml").write_text(BROKEN)
    (tmp_path / "other.yaml").write_text("kind: Deployment\n---\nkind: Service\n---\n- a list\n")
    (tmp_path / "torn.yaml").write_text(good() + "---\na: [")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    return tmp_path


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (["good.yaml"], 0),
        (["broken.yaml"], 1),
        (["good.yaml", "broken.yaml"], 1),
        (["other.yaml"], 0),
        (["torn.yaml"], 2),
        (["absent.yaml"], 2),
        (["bytes.yaml"], 2),
        (["."], 2),
        (["broken.yaml", "torn.yaml"], 2),
    ],
)
@pytest.mark.parametrize("form", ["text", "json", "sarif"])
def test_the_exit_code_is_the_verdict(
    files: pathlib.Path, names: list[str], code: int, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """0 nothing is refused, 1 something is, 2 something could not be read; whatever the form."""
    assert validate.main([*(str(files / name) for name in names), f"--format={form}"]) == code
    said = capsys.readouterr().out
    assert said
    if form != "text":
        json.loads(said)


def test_a_remark_names_file_line_field_value_and_rule(files: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = files / "broken.yaml"
    validate.main([str(file)])
    assert capsys.readouterr().out == (
        f"{file}:12 spec.speculation.tokens: 20 — on Ascend NPUs 1 + tokens must be <= 16: "
        "the limit of their attention kernels (refused; rule API-RULE)\n"
        "1 SpeculativeInferenceService: 1 refused\n"
    )


def test_sarif_is_what_code_review_tools_take(files: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Version 2.1.0: rule, level, message, place."""
    validate.main([str(files / "broken.yaml"), "--format=sarif"])
    found = json.loads(capsys.readouterr().out)
    assert found["version"] == "2.1.0"
    (run,) = found["runs"]
    (result,) = run["results"]
    assert (result["ruleId"], result["level"]) == ("API-RULE", "error")
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].endswith("broken.yaml")
    assert place["region"] == {"startLine": 12}
    assert {each["id"] for each in run["tool"]["driver"]["rules"]} == {"API-RULE"}


def test_standard_input_is_read_where_no_file_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As after `kustomize build |`: other kinds are counted and left alone."""
    text = f"kind: Service\n---\n{good()}---\n{good()}"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert validate.main([]) == 0
    assert "2 SpeculativeInferenceServices" in capsys.readouterr().out


def test_pydantic_and_kubernetes_are_not_loaded() -> None:
    """The command has to start in a moment; `make bench` shows how long it takes."""
    code = "import sys; from specdec_command.cli import validate; print(sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert [
        name for name in ("pydantic", "kubernetes", "kopf", "aiohttp", "typer", "rich") if f"'{name}'" in loaded
    ] == []


@pytest.mark.parametrize(("version", "code"), [("0.13", 1), ("0.18", 0), ("0.20", 0), (None, 0)])
def test_a_kserve_may_be_named_for_the_rules_about_its_versions(
    files: pathlib.Path, capsys: pytest.CaptureFixture[str], version: str | None, code: int
) -> None:
    """A commit hook does not query a cluster."""
    (files / "car.yaml").write_text(good(model={"uri": "oci://registry.example/llama:1"}))
    named = [] if version is None else ["--kserve", version]
    assert validate.main([*named, str(files / "car.yaml")]) == code
    assert ("rule KSERVE-LACKS" in capsys.readouterr().out) == bool(code)


def test_the_command_shows_on_a_terminal_that_it_reads_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a file the command would seem to hang. It reads a pipe without a message."""

    class Terminal(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    for stdin, told in ((Terminal(io.BytesIO(b"")), True), (io.TextIOWrapper(io.BytesIO(b"")), False)):
        monkeypatch.setattr(sys, "stdin", stdin)
        assert validate.main([]) == 0
        assert ("end it with Ctrl-D, or give FILE" in capsys.readouterr().err) is told
