"""Commands and scripts as people write them, and what `specdec import` makes of each."""

from typing import Any

import pytest

from specdec_command.importing.command import Command, command_of, line
from tests.unit.importing.test_services import run

MTP = '{"method":"mtp","num_speculative_tokens":2}'


def script(text: str, **more: Any) -> Command:
    """The command of a container with a script for bash."""
    return command_of({"command": ["bash", "-c"], "args": [text], **more}, "spec.predictor.model")


def lost(command: Command) -> list[str]:
    return [str(each) for each in command.lost]


def test_comments_and_the_next_line_set_nothing() -> None:
    """An apostrophe in a comment opens no quote, and a flag behind `#` is not one."""
    text = f"# don't raise it\nvllm serve /m --max-model-len 4096 --speculative-config '{MTP}' # --enforce-eager\n"
    made = script(f"{text}# --speculative-config x\n")
    assert made.words == ("--max-model-len", "4096", "--speculative-config", MTP)
    assert (made.model, made.program, made.lost) == ("/m", True, ())


def test_another_command_is_listed() -> None:
    """A newline ends a command."""
    made = script("pip install x\nvllm serve /m --max-model-len 4096\npython3 /opt/report.py --seed 7")
    assert made.words == ("--max-model-len", "4096")
    assert [each.why for each in made.lost] == [
        "`pip install x` runs before vLLM starts",
        "`python3 /opt/report.py --seed 7` is another command of the script",
    ]


def test_only_exported_variables_with_a_value_are_env() -> None:
    """The others are listed as they are written."""
    lines = (
        "addr=10.0.0.7",
        "export HCCL_IF_IP=$addr",
        "export TOKEN=$(cat /run/x)",
        "if [ -f a ]; then export B=1; fi",
    )
    text = "\n".join([*lines, "vllm serve /m"])
    made = script(text)
    assert made.env == (("HCCL_IF_IP", "10.0.0.7"),)
    assert [each.field for each in made.lost] == ["TOKEN=$(cat /run/x)", "B=1"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("vllm serve '/m", "the script cannot be read: line 1"),
        ("if a; then vllm serve /m; else vllm serve /n; fi", "several commands start an engine (lines 1, 1)"),
        ("bash /opt/start.sh", "the script /opt/start.sh is a file"),
    ],
)
def test_an_unknown_engine_is_listed_and_gives_no_flags(text: str, why: str) -> None:
    made = script(text)
    assert (made.words, made.model) == ((), None)
    assert why in lost(made)[-1] + lost(made)[0]


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (
            ["--max-model-len 4096"],
            "`--max-model-len 4096` is one word; vLLM takes it for a model name: write two list",
        ),
        (["--enable-expert-parallel", "8"], "`8` is not a flag and not the value of one, and vLLM refuses it"),
        (["--seed", "$(SEED)"], "`--seed $(SEED)` uses a variable whose value is not in the manifest"),
    ],
)
def test_words_that_vllm_refuses_are_listed(args: list[str], told: str) -> None:
    env = [{"name": "SEED", "valueFrom": {"configMapKeyRef": {"name": "x", "key": "y"}}}]
    made = command_of({"command": ["vllm", "serve"], "args": ["/m", *args], "env": env}, "here")
    assert made.model == "/m"
    assert told in lost(made)[0]


@pytest.mark.parametrize(
    "words",
    [
        ["--model", "acme/chat", "--max-model-len", "4096"],
        ["bash", "-c", "vllm serve acme/chat --max-model-len 4096"],
        ["vllm serve acme/chat --max-model-len 4096  # fast"],
        ["docker", "run", "--rm", "vllm/vllm-openai:v0.33.0", "acme/chat", "--max-model-len", "4096"],
        ["docker", "run", "vllm/vllm-openai:v0.33.0", "--model", "acme/chat", "--max-model-len", "4096"],
    ],
)
def test_each_way_to_type_a_command_is_the_same_service(words: list[str]) -> None:
    """The model's name is the one that clients used."""
    code, out, _ = run("import", "--", *words, text="")
    assert code == 0
    assert "name: acme/chat" in out
    assert "uri: hf://acme/chat" in out
    assert "maxModelLen: 4096" in out


def test_options_of_docker_are_listed() -> None:
    made = line(["docker", "run", "--gpus", "all", "-p", "8000:8000", "-e", "A=b", "vllm/vllm-openai", "acme/chat"])
    assert made.env == (("A", "b"),)
    assert [each.why.split(" is an")[0] for each in made.lost] == ["`--gpus all`", "`-p 8000:8000`"]


def test_a_line_that_cannot_be_read_ends_with_code_2() -> None:
    """The message has the reason."""
    code, out, err = run("import", "--", "vllm serve 'acme/chat", text="")
    assert (code, out) == (2, "")
    assert "the script cannot be read: line 1" in " ".join(err.split())
