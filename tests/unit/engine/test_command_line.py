"""Command lines, read as the server reads them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdec_engine import command_line
from specdec_engine.rule import Severity
from specdec_engine.version import Build, Flavor, Version

NGRAM = {"method": "ngram", "num_speculative_tokens": 3}
TEXT = '{"method":"ngram","num_speculative_tokens":3}'
SPOKEN = ["--spec-method", "ngram", "--spec-tokens", "3"]


def read(*words: str, version: str = "0.32.0") -> command_line.CommandLine:
    return command_line.read(words, Build(Flavor.VLLM, Version.parse(version)))


def ids(line: command_line.CommandLine) -> list[str]:
    return [each.rule.id for each in line.findings]


@pytest.mark.parametrize(
    "words",
    [
        ["--speculative-config", TEXT],
        ["--speculative_config", TEXT],
        [f"--speculative-config={TEXT}"],
        ["-sc", TEXT],
        ["--speculative-config.method", "ngram", "--speculative-config.num_speculative_tokens", "3"],
        ["--speculative_config.method=ngram", "-sc.num_speculative_tokens=3"],
        SPOKEN,
        ["vllm", "serve", "/models/target", "--speculative-config", TEXT],
    ],
)
def test_all_ways_to_speculate_mean_the_same(words: list[str]) -> None:
    """Long, short, dotted, in single flags, and behind `vllm serve`."""
    line = read(*words)
    assert (line.speculation, ids(line)) == (NGRAM, [])


@pytest.mark.parametrize(
    ("words", "args"),
    [
        (["-tp", "2"], {"tensor_parallel_size": 2}),
        (["--max-model-len", "4k"], {"max_model_len": 4000}),
        (["--max-model-len=4K"], {"max_model_len": 4096}),
        (["--max-model-len=auto"], {"max_model_len": None}),
        (["--max-model-len", "-1"], {"max_model_len": None}),
        (["--max-logprobs", "-1"], {"max_logprobs": -1}),
        (["--enable-lora", "--no-enable-prefix-caching"], {"enable_lora": True, "enable_prefix_caching": False}),
        (["--logits-processors", "a:B", "c:D", "--port", "1"], {"logits_processors": ["a:B", "c:D"], "port": 1}),
        (["--hf-overrides", '{"a": 1}'], {"hf_overrides": {"a": 1}}),
        (["--compilation-config.cudagraph_mode", "FULL"], {"compilation_config": {"cudagraph_mode": "FULL"}}),
        (["-cc.pass_config.enable_sp=true"], {"compilation_config": {"pass_config": {"enable_sp": True}}}),
        (["--strange-flag", "x", "--alone"], {"strange_flag": "x", "alone": True}),
        ([], {}),
    ],
)
def test_flags_become_values(words: list[str], args: dict[str, Any]) -> None:
    """By the table's types: switches, numbers with their scale, lists, objects, text."""
    line = read(*words)
    assert (dict(line.args), line.speculation, ids(line)) == (args, None, [])


@pytest.mark.parametrize(
    ("rule", "words", "version"),
    [
        ("JSON-SYNTAX", ["--speculative-config", f"{TEXT},"], "0.32.0"),
        ("JSON-SYNTAX", ["--speculative-config", "[" * 100_000], "0.32.0"),
        ("JSON-OBJECT", ["--speculative-config", f"[{TEXT}]"], "0.32.0"),
        ("JSON-OBJECT", ["--speculative-config", "3"], "0.32.0"),
        ("JSON-OFF", ["--speculative-config", ""], "0.32.0"),
        ("JSON-OFF", ["--speculative-config", "null"], "0.32.0"),
        ("JSON-OFF", ["--speculative-config", "None"], "0.32.0"),
        ("JSON-TWICE", ["--speculative-config", '{"method":"ngram","method":"suffix"}'], "0.32.0"),
        ("SPEC-FLAGS-BOTH", ["--speculative-config", TEXT, "--spec-tokens", "3"], "0.32.0"),
        ("ARG-VALUE", ["--max-num-seqs", "many"], "0.32.0"),
        ("ARG-VALUE", ["--max-num-seqs"], "0.32.0"),
        ("ARG-VALUE", ["--enable-lora=yes"], "0.32.0"),
        ("ARG-SHORT", ["-sc", TEXT], "0.15.1"),
        ("SPEC-FLAGS-SINCE", ["--spec-method", "ngram"], "0.20.2"),
    ],
)
def test_a_faulty_line_is_refused_with_the_reason(rule: str, words: list[str], version: str) -> None:
    assert ids(read(*words, version=version)) == [rule]


@pytest.mark.parametrize("text", ["", "null"])
def test_only_we_refuse_speculation_that_is_silently_off(text: str) -> None:
    """The engine serves without speculation, although the line requests it."""
    (found,) = read("--speculative-config", text).findings
    assert found.rule.stricter
    assert found.rule.severity is Severity.REFUSED


def test_of_a_key_written_twice_the_last_one_is_read() -> None:
    assert read("--speculative-config", '{"a":1,"a":2}').speculation == {"a": 2}


@given(
    st.lists(
        st.one_of(
            st.text(max_size=20), st.sampled_from(["-sc", "--speculative-config", "-tp", "--spec-tokens", "{", "1"])
        )
    )
)
def test_any_words_are_read(words: list[str]) -> None:
    assert isinstance(read(*words), command_line.CommandLine)


@pytest.mark.parametrize("words", [("-O3",), ("-O=3",), ("-O", "3")])
def test_a_level_is_written_in_three_ways(words: tuple[str, ...]) -> None:
    """Since 0.12 it is the level of optimisation, before that of compilation; -O.mode is part of an object as ever."""
    assert read(*words, "--seed=1").args == {"optimization_level": "3", "seed": 1}
    assert read(*words, version="0.11.2").args == {"compilation_config": {"level": 3}}
    assert read("-O.mode=3").args == {"compilation_config": {"mode": 3}}


@pytest.mark.parametrize(
    ("words", "args"),
    [
        (["--max-num-batched=8192"], {"max_num_batched_tokens": 8192}),
        (["--tensor-parallel", "2"], {"tensor_parallel_size": 2}),
        (["--no-enable-prefix"], {"enable_prefix_caching": False}),
        (["--max-num", "1"], {"max_num": "1"}),
        (["--quantization", "x"], {"quantization": "x"}),
        (["--unheard-of", "x"], {"unheard_of": "x"}),
    ],
)
def test_a_shortened_flag_is_the_one_that_it_begins(words: list[str], args: dict[str, Any]) -> None:
    """As the engine's parser reads it. One that begins several flags, or none, keeps its name."""
    assert read(*words).args == args


def test_words_that_are_not_flags_are_strays() -> None:
    """A switch has no value; a list takes all words up to the next flag."""
    words = ["m", "--enable-expert-parallel", "8", "--served-model-name", "a", "b", "--seed=1", "-tp", "2", "x"]
    assert command_line.stray_words(words, Build(Flavor.VLLM, Version.parse("0.32.0"))) == ("m", "8", "x")
