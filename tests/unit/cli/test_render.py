"""`specdec render` and `specdec rules` as a shell sees them."""

import json
import pathlib
from typing import Any

import pytest
import yaml
from tests.unit.builders import DRAFT, make_sis
from tests.unit.engine.cases import KINDS
from typer.testing import CliRunner

from specdec_command.cli.commands import application
from specdec_command.cli.rules import RULES


@pytest.fixture
def file(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "service.yaml"


def run(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(application(), [*words])
    return result.exit_code, result.stdout, result.stderr


def written(file: pathlib.Path, **changes: Any) -> str:
    body = make_sis(**changes)
    del body["status"]
    file.write_text(yaml.safe_dump(body))
    return str(file)


def test_the_inference_service_is_what_the_operator_applies(file: pathlib.Path) -> None:
    """YAML on standard output; runtime, engine, flags and memory beside it."""
    code, out, err = run("render", written(file, engine={"accelerator": "nvidia"}, memory={"device": "80Gi"}))
    assert code == 0
    manifest = yaml.safe_load(out)
    args = manifest["spec"]["predictor"]["model"]["args"]
    assert manifest["kind"] == "InferenceService"
    assert "runtime: specdec-nvidia on vllm 0.33.0" in err
    assert all(arg in err for arg in args)
    assert "memory: " in err


def test_the_baseline_is_what_runs_after_a_rollback(file: pathlib.Path) -> None:
    """Without speculation and without the draft's volume."""
    code, out, _ = run("render", "--plain", written(file))
    assert code == 0
    model = yaml.safe_load(out)["spec"]["predictor"]["model"]
    assert not any(arg.startswith("--speculative-config") for arg in model["args"])
    assert len(model["volumeMounts"]) == 1


def test_known_models_are_checked(file: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """Two config.json files contain more than a spec alone."""
    paths = []
    for name in ("llama", "d-llama-v2050"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(json.dumps(KINDS[name]))
        paths.append(str(tmp_path / name))
    code, out, err = run("render", written(file), "--target", paths[0], "--draft", paths[1])
    assert (code, out) == (1, "")
    assert "(rule VOCAB-EQUAL)" in err


def test_a_kserve_that_is_too_old_is_refused_with_the_version_that_works(file: pathlib.Path) -> None:
    """The command queries no cluster: the version is assumed."""
    mix = {"model": {"uri": "hf://a/b:1"}, "speculation": DRAFT | {"draft": {"uri": "oci://registry.example/d:1"}}}
    code, out, err = run("render", written(file, **mix), "--kserve", "0.19")
    assert (code, out) == (1, "")
    assert "KServe 0.20 mounts them all" in err
    assert "rule KSERVE-LACKS" in err
    for newer in ("0.20", "v0.21.0"):
        code, out, err = run("render", str(file), "--kserve", newer)
        assert (code, "KSERVE" in err) == (0, False)
        assert [each["uri"] for each in yaml.safe_load(out)["spec"]["predictor"]["storageUris"]] == [
            "hf://a/b:1",
            "oci://registry.example/d:1",
        ]
    assert "warned; rule KSERVE-NEWER" in run("render", str(file), "--kserve", "0.22")[2]
    assert run("render", str(file), "--kserve", "latest")[0] == 2


@pytest.mark.parametrize(
    ("text", "code", "why"),
    [
        ("kind: Service", 2, "0 SpeculativeInferenceServices; the command renders only one"),
        ("a: [", 2, "not YAML: "),
        (yaml.safe_dump(make_sis(speculation=DRAFT | {"tokens": 0})), 1, "must be >= 1"),
        (yaml.safe_dump(make_sis(model={"uri": "pvc://UPPER"})), 1, "SPEC-INVALID"),
    ],
)
def test_what_cannot_be_rendered_is_refused_with_the_reason(file: pathlib.Path, text: str, code: int, why: str) -> None:
    file.write_text(text)
    found, out, err = run("render", str(file))
    assert (found, out) == (code, "")
    assert why in err


def test_every_rule_is_listed_in_every_form() -> None:
    _, text, _ = run("rules")
    _, page, _ = run("rules", "--format", "markdown")
    _, data, _ = run("rules", "--format", "json")
    assert [each["id"] for each in json.loads(data)] == [rule.id for rule in RULES]
    assert all(f"- `{rule.id}`" in page for rule in RULES)
    assert "JSON-SYNTAX" in text


def test_rules_have_stable_and_different_ids_a_sentence_and_a_source() -> None:
    """They are quoted in tickets."""
    assert len({rule.id for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule.id == rule.id.upper()
        assert rule.says.endswith(".")
        assert rule.source


def test_warnings_about_known_models_are_shown(file: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """Once, with those that need no model."""
    (tmp_path / "config.json").write_text(json.dumps(KINDS["ds3-n1"]))
    asked = written(file, engine={"accelerator": "nvidia"}, speculation={"method": "mtp", "tokens": 5})
    code, _, err = run("render", "--target", str(tmp_path), asked)
    assert code == 0
    assert err.count("rule K-REPEATS") == 1
    assert "K-REPEATS" not in run("render", asked)[2]
