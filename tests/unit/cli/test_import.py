"""`specdec import`: what people run today becomes a service that asks for the same, or it is said why not."""

import json
from typing import Any

import pytest
import yaml
from tests.unit.engine.cases import KINDS, VERDICTS
from tests.unit.engine.recorded import case_of, judge
from typer.testing import CliRunner

from specdec_operator.cli.commands import application
from specdec_operator.cli.import_ import Place, converted

EAGLE = '{"method":"eagle3","model":"/models/head","num_speculative_tokens":3}'


def run(*words: str, text: str | None = None) -> tuple[int, str, str]:
    """Exit code, standard output and standard error."""
    result = CliRunner().invoke(application(), ["import", *words], input=text)
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize("version", ["0.11.2", "0.15.1", "0.20.2", "0.25.1", "0.32.0"])
def test_what_would_be_deployed_can_be_said_in_a_sis(version: str) -> None:
    """Of the recorded configurations that are fit to run; the service is asked back and must mean the same."""
    deployable = said = 0
    for line in map(json.loads, (VERDICTS / f"vllm-{version}.jsonl").read_text().splitlines()):
        if judge(line, KINDS)["ok"]:
            deployable += 1
            found = converted(case_of(line, KINDS)[0], Place())
            said += found.body is not None
            assert (found.body is None) == bool(found.why_not), line["id"]
    assert said / deployable > 0.97


@pytest.mark.parametrize(
    ("words", "speculation", "engine"),
    [
        (
            ["--", "vllm", "serve", "m", "-tp", "2", "--enable-lora", f"--speculative-config={EAGLE}"],
            {"method": "eagle3", "tokens": 3, "draft": {"uri": "pvc://models/draft"}},
            {"accelerator": "nvidia", "tensorParallelSize": 2, "args": ["--enable-lora"]},
        ),
        (
            ["--speculative-config", '{"method":"ngram","num_speculative_tokens":4,"prompt_lookup_max":3}'],
            {"method": "ngram", "tokens": 4, "ngram": {"lookupMin": 3, "lookupMax": 3}},
            {"accelerator": "nvidia"},
        ),
        (
            ["--accelerator", "cpu", "--version", "0.25.1", "--", "--max-num-seqs", "8"],
            None,
            {"accelerator": "cpu", "version": "0.25.1", "maxNumSeqs": 8},
        ),
    ],
)
def test_flags_become_a_sis(words: list[str], speculation: Any, engine: dict[str, Any]) -> None:
    """Standard output is YAML and nothing else."""
    code, out, _ = run(*words)
    assert code == 0
    spec = yaml.safe_load(out)["spec"]
    assert (spec.get("speculation"), spec["engine"]) == (speculation, engine)


def test_an_inference_service_becomes_a_sis() -> None:
    """With its name, resources, replicas and where its model lies."""
    model = {
        "storageUri": "pvc://llama/8b",
        "args": ["--max-model-len=4096", f"--speculative-config={EAGLE}"],
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
    }
    service = {"metadata": {"name": "llama"}, "spec": {"predictor": {"minReplicas": 2, "model": model}}}
    code, out, _ = run("--file", "-", text=yaml.safe_dump({"kind": "InferenceService"} | service))
    assert code == 0
    body = yaml.safe_load(out)
    assert body["metadata"] == {"name": "llama"}
    assert body["spec"]["model"] == {"uri": "pvc://llama/8b"}
    assert body["spec"]["resources"] == model["resources"]
    assert (body["spec"]["replicas"], body["spec"]["engine"]["maxModelLen"]) == (2, 4096)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], "give vLLM's flags after `--`, or --file, or --speculative-config"),
        (["--speculative-config", "null"], "(rule JSON-OFF)"),
        (["--speculative-config", '{"method":"ngram","num_speculative_tokens":3,"foo":1}'], "(rule KEY-UNKNOWN)"),
        (["--version", "latest", "--", "--seed=1"], "is no engine version"),
        (["--file", "/does/not/exist"], "No such file"),
        (
            ["--speculative-config", '{"method":"ngram","num_speculative_tokens":3,"prompt_lookup_max":129}'],
            "spec.speculation.ngram.lookupMin: must be <= 128",
        ),
    ],
)
def test_why_not_is_said(words: list[str], why: str) -> None:
    """On standard error, with exit code 1 and nothing on standard output."""
    code, out, err = run(*words)
    assert (code, out) == (1, "")
    assert why in err
