"""Twenty-six InferenceServices as people write them: import, validate, render, and nothing is lost silently."""

import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from specdec_command.cli.commands import application

FILE = pathlib.Path(__file__).with_name("services.yaml")
SERVICES = {each["metadata"]["name"]: each for each in yaml.safe_load_all(FILE.read_text())}
REFUSED = {"several-nodes": "spec.predictor.workerSpec: this engine runs over several pods"}
WRITTEN_BY_OTHERS = ("apiVersion", "kind", "status", "metadata")
REQUESTS_RUNNING = {
    "type": "External",
    "external": {
        "metric": {"backend": "prometheus", "query": "sum(vllm:num_requests_running)"},
        "target": {"type": "Value", "value": "10"},
    },
}
IN_WORDS = ("args", "command")
"""Fields whose text is read word by word."""


def run(*words: str, text: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(application(), list(words), input=text)
    return result.exit_code, result.stdout, result.stderr


def imported(name: str) -> tuple[int, str, str]:
    return run("import", "-", text=yaml.safe_dump(SERVICES[name]))


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            bracketed = "." in key or "/" in key or path.endswith("metadata.annotations")
            yield from leaves(inner, f"{path}[{key}]" if bracketed else f"{path}.{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, f"{path}[{index}]")
    else:
        yield path.lstrip("."), value


def values(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {str(each) for each in value} | {text for each in value.values() for text in values(each)}
    if isinstance(value, list):
        return {text for each in value for text in values(each)}
    return {str(value)}


@pytest.mark.parametrize("name", SERVICES)
def test_it_becomes_a_service_that_is_valid_and_renders(name: str) -> None:
    """Or it is refused by name. What is not carried over ends with code 3."""
    code, out, err = imported(name)
    if name in REFUSED:
        assert (code, out) == (1, "")
        assert REFUSED[name] in err
        return
    assert code == (3 if "# NOT CARRIED OVER" in out else 0), err
    assert "refused" not in run("validate", "-", text=out)[1]
    code, shown, err = run("render", "-", text=out)
    assert code == 0, err
    assert yaml.safe_load(shown)["kind"] == "InferenceService"


@pytest.mark.parametrize("name", sorted(SERVICES.keys() - REFUSED.keys()))
def test_every_value_is_carried_over_or_reported(name: str) -> None:
    """Each value that the API server or KServe did not write is in the service, or a comment names its field."""
    out = imported(name)[1]
    comments = [each for each in out.splitlines() if each.startswith("#")]
    carried = values(yaml.safe_load(out))
    for path, value in leaves(SERVICES[name]):
        parts = path.replace("[", ".").split(".")
        own = parts[0] in WRITTEN_BY_OTHERS and not path.startswith(("metadata.labels", "metadata.annotations"))
        if own or value in (None, "") or set(parts) & set(IN_WORDS):
            continue
        told = any(prefix in line for line in comments for prefix in prefixes(path))
        assert str(value) in carried or told or in_place(value, carried), f"{path}: {value}"


def prefixes(path: str) -> list[str]:
    """The path and those above it, down to a field of the predictor."""
    steps = path.split(".")
    least = 2 if path.startswith(("spec.transformer", "metadata.")) else 3
    whole = [".".join(steps[:length]) for length in range(least, len(steps) + 1)]
    mount = ["and its mount"] if ".volumeMounts[" in path else []
    return [*whole, *(each.rpartition("[")[0] for each in whole if each.endswith("]")), *mount]


def in_place(value: Any, carried: set[str]) -> bool:
    """A value that is part of another value there: the PVC of a model, and a number of seconds."""
    text = str(value).strip("/")
    return any(each in carried for each in (f"{text}s", text, f"pvc://{text}"))


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        ("alauda-ngram", {"model": {"uri": "hf://qwen/qwen3-8b", "aliases": ["demo/alauda-ngram"]}}),
        (
            "claim-volume",
            {"model": {"uri": "pvc://weights", "path": "llama-70b", "name": "llama", "aliases": ["gpt-4"]}},
        ),
        ("alauda-eagle", {"memory": {"draftReserve": "None"}}),
        ("from-the-cluster", {"inferenceService": {"annotations": {"sidecar.istio.io/inject": "false"}}}),
        ("s3", {"model": {"uri": "s3://models/qwen3/8b", "name": "qwen"}}),
        (
            "autoscaled",
            {
                "autoscaling": {
                    "autoscalerClass": "keda",
                    "minReplicas": 2,
                    "maxReplicas": 6,
                    "metrics": [REQUESTS_RUNNING],
                }
            },
        ),
    ],
)
def test_what_it_becomes(name: str, spec: dict[str, Any]) -> None:
    made = yaml.safe_load(imported(name)[1])["spec"]
    assert {key: made.get(key) for key in spec} == spec


def test_lora_modules_become_adapters() -> None:
    """Those with a known folder; the other one is reported."""
    _, out, _ = imported("lora")
    spec = yaml.safe_load(out)["spec"]
    assert spec["engine"]["args"] == ["--max-loras=4"]
    assert spec["model"]["adapters"] == [{"name": "sql", "uri": "pvc://adapters", "path": "sql", "rank": 32}]
    assert "# NOT CARRIED OVER: --lora-modules chat=/elsewhere/chat" in out


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("alauda-ngram", {"--gpu-memory-utilization=0.9", "--dtype=half", "--max-model-len=8192"}),
        ("alauda-eagle", {"--gpu-memory-utilization=0.8", "--served-model-name=alauda-eagle"}),
        ("kserve-draft", {"--served-model-name=llama-3.1-8b"}),
    ],
)
def test_it_renders_to_what_it_was(name: str, flags: set[str]) -> None:
    """Flags of the examples of the documents, in the InferenceService that the operator writes."""
    code, shown, err = run("render", "-", text=imported(name)[1])
    assert code == 0, err
    assert flags <= set(yaml.safe_load(shown)["spec"]["predictor"]["model"]["args"])


def test_all_of_a_file_come_out_as_documents_of_one() -> None:
    """The error names the service that cannot be imported, and the output has the others."""
    code, out, err = run("import", "-", text=FILE.read_text())
    assert code == 1
    assert "not imported: InferenceService chat/several-nodes" in err
    made = [each["metadata"]["name"] for each in yaml.safe_load_all(out)]
    assert made == [each for each in SERVICES if each not in REFUSED]


def test_a_script_is_read_to_its_end() -> None:
    """The import reports the commands before and after vLLM. The flags have the values of the script's variables."""
    _, out, _ = imported("with-sidecar")
    for told in ("`pip install numba`", "`| tee /tmp/log`", "`--seed $SEED`", "containers[0]", "initContainers"):
        assert told in out
    spec = yaml.safe_load(out)["spec"]
    assert (spec["model"]["uri"], spec["engine"]["maxModelLen"]) == ("pvc://model", 4096)


@pytest.mark.parametrize(
    "device", ["amd.com/gpu", "gpu.intel.com/xe", "google.com/tpu", "habana.ai/gaudi", "aws.amazon.com/neuron"]
)
def test_devices_that_no_runtime_is_for_are_refused_by_name(device: str) -> None:
    """A service for NVIDIA would wait for a device that never comes; the way out is a guard."""
    model = {"modelFormat": {"name": "huggingface"}, "storageUri": "pvc://m", "resources": {"limits": {device: "1"}}}
    head = {"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService", "metadata": {"name": "other"}}
    code, out, err = run("import", "-", text=yaml.safe_dump({**head, "spec": {"predictor": {"model": model}}}))
    assert (code, out) == (1, "")
    assert f"resources: {device}: the operator has runtimes for NVIDIA, Ascend and CPUs" in err
    assert "specdec guard isvc/other" in err


@pytest.mark.parametrize(
    ("name", "uri", "draft"),
    [
        ("option-a", "hf://meta-llama/Llama-3.1-8B-Instruct", {"uri": "hf://yuhuili/EAGLE3-LLaMA3.1-Instruct-8B"}),
        ("alauda-modelcar", "oci://registry.example.com/models/llama-pair:1", None),
        ("option-c", "pvc://shared", {"path": "draft"}),
    ],
)
def test_each_way_to_bring_two_artifacts_renders_to_what_it_was(name: str, uri: str, draft: dict[str, str]) -> None:
    """storageUris, one Modelcar, one PVC: the same artifacts, method and K, and both folders as in the flags."""
    out = imported(name)[1]
    spec = yaml.safe_load(out)["spec"]
    assert spec["model"]["uri"] == uri
    assert draft is None or spec["speculation"]["draft"] == draft
    predictor = yaml.safe_load(run("render", "-", text=out)[1])["spec"]["predictor"]
    (config,) = (each for each in predictor["model"]["args"] if each.startswith("--speculative-config="))
    said = yaml.safe_load(config.partition("=")[2])
    assert (said["method"], said["num_speculative_tokens"]) == ("eagle3", 3)
    brought = [*predictor["model"].get("volumeMounts", ()), *predictor.get("storageUris", ())]
    brought += predictor["model"].get("storageUris", ())
    folders = [each["mountPath"] for each in brought]
    target = next(each.partition("=")[2] for each in predictor["model"]["args"] if each.startswith("--model="))
    for folder in (target, said["model"]):
        assert any(f"{folder}/".startswith(f"{each}/") for each in folders), (folder, folders)


def test_what_the_engine_reads_in_its_own_way_is_read_so() -> None:
    """-O3, and the old name [ngram]; names of folders by which clients asked stay names."""
    assert "--optimization-level=3" in yaml.safe_load(imported("dashboards")[1])["spec"]["engine"]["args"]
    out = imported("scaled-by-concurrency")[1]
    spec = yaml.safe_load(out)["spec"]
    assert spec["speculation"]["method"] == "ngram"
    assert spec["model"]["aliases"] == ["/mnt/models"]
    assert "--speculative-config" not in out.partition("apiVersion")[0]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("dashboards", "# NOT CARRIED OVER: env PYTHONPATH: it would replace the runtime's own"),
        ("dashboards", "# NOT CARRIED OVER: resources.claims: a service has no field for the resourceClaims"),
        ("file-of-flags", "# NOT CARRIED OVER: --config=/etc/vllm.yaml: a file with flags inside the pod"),
        ("shell", "# NOT CARRIED OVER: spec.predictor.model: `$EXTRA_ARGS` uses a variable"),
    ],
)
def test_a_harmful_or_unknown_setting_is_reported(name: str, told: str) -> None:
    assert told in imported(name)[1]


def test_other_objects_of_a_file_are_reported() -> None:
    """They are ignored. A user could mistake an LLMInferenceService for an imported service."""
    other = {"apiVersion": "serving.kserve.io/v1alpha1", "kind": "LLMInferenceService", "metadata": {"name": "big"}}
    code, _, err = run("import", "-", text=yaml.safe_dump_all([SERVICES["kserve-draft"], other]))
    assert code == 0
    assert "ignored: LLMInferenceService big: it is not an InferenceService" in err
