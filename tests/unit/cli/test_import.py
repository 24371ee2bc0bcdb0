"""`specdec import`: today's configuration becomes a service with the same settings, or the
message shows the reason why not.
"""

import json
from typing import Any

import pytest
import yaml
from lab.verdicts.judge import case_of, judge
from tests.unit.engine.cases import KINDS, VERDICTS
from typer.testing import CliRunner

from specdec_command.cli.commands import application
from specdec_command.importing.service import converted

EAGLE = '{"method":"eagle3","model":"org/head","num_speculative_tokens":3}'


def run(*words: str, text: str | None = None) -> tuple[int, str, str]:
    result = CliRunner().invoke(application(), ["import", *words], input=text)
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize("version", ["0.11.2", "0.15.1", "0.20.2", "0.25.1", "0.32.0"])
def test_a_deployable_configuration_becomes_a_spec(version: str) -> None:
    """Of the recorded configurations that are fit to run. The spec is translated back and must mean the same."""
    deployable = said = 0
    for line in map(json.loads, (VERDICTS / f"vllm-{version}.jsonl").read_text().splitlines()):
        if judge(line, KINDS)["ok"]:
            deployable += 1
            found = converted(case_of(line, KINDS)[0], draft={"uri": "pvc://models/draft"})
            said += found.spec is not None
            assert (found.spec is None) == bool(found.why_not), line["id"]
    assert said / deployable > 0.97


@pytest.mark.parametrize(
    ("words", "speculation", "engine"),
    [
        (
            ["--", "vllm", "serve", "org/m", "-tp", "2", "--enable-lora", f"--speculative-config={EAGLE}"],
            {"method": "eagle3", "tokens": 3, "draft": {"uri": "hf://org/head"}},
            {"accelerator": "nvidia", "tensorParallelSize": 2, "args": ["--enable-lora"]},
        ),
        (
            [
                *("--model-uri", "pvc://m/t", "--speculative-config"),
                '{"method":"ngram","num_speculative_tokens":4,"prompt_lookup_max":3}',
            ],
            {"method": "ngram", "tokens": 4, "ngram": {"lookupMin": 3, "lookupMax": 3}},
            {"accelerator": "nvidia"},
        ),
        (
            [
                *("--accelerator", "ascend", "--model-uri", "pvc://m/t", "--", "--max-num-seqs", "10"),
                '--speculative-config={"method":"mtp","num_speculative_tokens":2}',
                '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}',
                '--additional-config={"enable_cpu_binding":true,"rejection_sampler_config":{"enable_block_verify":true}}',
            ],
            {"method": "mtp", "tokens": 2, "ascend": {"blockVerify": True}},
            {
                "accelerator": "ascend",
                "maxNumSeqs": 10,
                "args": [
                    '--additional-config={"enable_cpu_binding":true}',
                    '--compilation-config={"cudagraph_mode":"FULL_DECODE_ONLY"}',
                ],
            },
        ),
        (
            ["--accelerator", "cpu", "--version", "0.25.1", "--model-uri", "pvc://m/t", "--", "--max-num-seqs", "8"],
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


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--speculative-config", "null"], "(rule JSON-OFF)"),
        (["--speculative-config", '{"method":"ngram","num_speculative_tokens":3,"foo":1}'], "(rule KEY-UNKNOWN)"),
        (
            ["--speculative-config", '{"method":"ngram","num_speculative_tokens":3,"prompt_lookup_max":129}'],
            "spec.speculation.ngram.lookupMin: must be <= 128",
        ),
    ],
)
def test_the_reason_for_a_refusal_is_shown(words: list[str], why: str) -> None:
    """On standard error, with exit code 1 and nothing on standard output."""
    code, out, err = run(*words)
    assert (code, out) == (1, "")
    assert why in err


@pytest.mark.parametrize(
    ("words", "text", "why"),
    [
        ([], None, "pass a file, isvc/NAME, vLLM's flags after `--`, or --speculative-config"),
        (["--version", "latest", "--", "--seed=1"], None, "is not an engine version"),
        (["--file", "/does/not/exist"], None, "No such file"),
        (["missing.yaml"], None, "No such file"),
        (["-f", "-", "--", "--seed=1"], "", "remove them from the command line"),
        (["--accelerator", "amd", "--", "--seed=1"], None, "Invalid value"),
        (["nothing", "here"], None, "'nothing here' is not a file, isvc/NAME"),
        (["isvc/llama", "--speculative-config", "{}"], None, "remove them from the command line"),
        (["-"], "kind: Secret", "has no InferenceService of serving.kserve.io, but Secret"),
        (["-"], "a: [", "not YAML"),
        (["-"], "", "has no InferenceService"),
    ],
)
def test_wrong_use_ends_with_code_2(words: list[str], text: str | None, why: str) -> None:
    """Nothing is on standard output, and no traceback anywhere."""
    code, out, err = run(*words, text=text)
    assert (code, out) == (2, "")
    assert why in " ".join(err.replace("│", " ").split())


@pytest.mark.parametrize(
    "spec",
    [
        None,
        {},
        {"predictor": None},
        {"predictor": {"model": {"args": [8080, "--seed", 3], "env": [3], "resources": []}}},
        {"predictor": {"containers": "x", "minReplicas": "two", "volumes": {"a": 1}}},
        {"predictor": {"containers": [3, {"name": "kserve-container", "env": [{"name": "A"}]}]}},
        {"predictor": {"model": {"storageUri": 3, "storageUris": [3, {"uri": 3}], "volumeMounts": [{"name": 3}]}}},
    ],
)
def test_an_odd_inference_service_causes_no_traceback(spec: Any) -> None:
    """The command ends with a documented exit code for scripts."""
    result = CliRunner().invoke(
        application(), ["import", "-"], input=yaml.safe_dump({"kind": "InferenceService", "spec": spec})
    )
    assert result.exit_code in (1, 3)
    assert result.exception is None or isinstance(result.exception, SystemExit)


def test_the_valid_name_of_a_misspelt_method_is_suggested() -> None:
    """The names come from the engine's own list."""
    _, _, err = run("--speculative-config", '{"method":"eagl3","num_speculative_tokens":3}')
    assert "did you mean eagle3?" in err


def test_old_flags_are_todays_configuration() -> None:
    """Flags of engines before 0.11. A draft whose name contains the name of a head is that head, as in the engine."""
    code, out, _ = run("--", "vllm serve org/m --speculative-model org/m-EAGLE3 --num-speculative-tokens 4")
    assert code == 0
    found = yaml.safe_load(out)["spec"]["speculation"]
    assert found == {"method": "eagle3", "tokens": 4, "draft": {"uri": "hf://org/m-EAGLE3"}}


def test_a_missing_value_becomes_a_placeholder_that_is_reported() -> None:
    """Flags alone name no model: the exit code is 3, and the first lines show what to add."""
    code, out, err = run("--", "--max-num-seqs", "8")
    assert code == 3
    assert "# NOT CARRIED OVER: --model: the input names no model; pvc://models/target is a placeholder" in out
    assert "1 settings are not carried over" in err


def test_speculation_that_a_guard_has_removed_is_reported() -> None:
    """The current flags are not all of the flags that the owner wrote."""
    meta = {"name": "llama", "annotations": {"specdec.io/enforce": "true", "specdec.io/taken-out": "{}"}}
    model = {"storageUri": "pvc://llama/8b", "args": []}
    body = {"kind": "InferenceService", "metadata": meta, "spec": {"predictor": {"model": model}}}
    code, out, _ = run("-", text=yaml.safe_dump(body))
    assert code == 3
    assert "a guard has currently removed its speculation" in out
    assert "inferenceService" not in yaml.safe_load(out)["spec"]


def test_the_namespace_that_is_named_is_the_services() -> None:
    code, out, _ = run("-n", "team", "--", "vllm", "serve", "org/m")
    assert code == 0
    assert yaml.safe_load(out)["metadata"]["namespace"] == "team"


def test_more_devices_than_most_nodes_have_are_asked_for() -> None:
    """The line ran where they are; what is spread over several pods by hand is left alone."""
    code, out, err = run("--", "vllm serve org/m --tensor-parallel-size 16")
    assert code == 0, err
    assert yaml.safe_load(out)["spec"]["resources"] == {"limits": {"nvidia.com/gpu": "16"}}
    _, out, _ = run("--", "vllm serve org/m --tensor-parallel-size 16 --distributed-executor-backend ray")
    assert "resources" not in yaml.safe_load(out)["spec"]
