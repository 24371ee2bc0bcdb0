"""Command lines that people write, in every shape that Kubernetes takes."""

from typing import Any

import pytest

from specdec_operator.guest.cut import Cut, cut
from specdec_operator.guest.flags import engine_of

NGRAM = '{"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 3}'
SCRIPT = f"""export HF_HOME=/cache
exec vllm serve /mnt/models \\
  --port 9000 \\
  --speculative-config '{NGRAM}' \\
  --max-model-len 4096
"""


def container(*args: str, **more: Any) -> dict[str, Any]:
    return {"name": "kserve-container", "image": "vllm/vllm-openai:v0.11.0", "args": list(args)} | more


@pytest.mark.parametrize(
    ("args", "method", "tokens"),
    [
        (["--model=/m", f"--speculative-config={NGRAM}"], "ngram", 4),
        (["--model", "/m", "--speculative_config", NGRAM], "ngram", 4),
        (["serve", "/m", "-sc", NGRAM], "ngram", 4),
        (["--speculative-config.method=eagle3", "--speculative-config.num_speculative_tokens", "5"], "eagle3", 5),
        (["--spec-method", "mtp", "--spec-tokens=1"], "mtp", 1),
        (['--speculative-config={"model":"/d","num_speculative_tokens":2}'], "draft_model", 2),
        (["--speculative-config=$(CONFIG)"], "", None),
        (["bash", "-c", SCRIPT], "ngram", 4),
        (["-lc", SCRIPT], "", None),
        (["/opt/start.sh", "-sc", NGRAM], "ngram", 4),
        (["bash", "/opt/start.sh", "-sc", NGRAM], "ngram", 4),
        (["--speculative-model=[ngram]", "--num-speculative-tokens", "4", "--ngram-prompt-lookup-max=3"], "ngram", 4),
    ],
)
def test_every_way_to_ask_for_speculation_is_found(args: list[str], method: str, tokens: int | None) -> None:
    """Unreadable arguments still count as a request for speculation. A flag that is not a shell's is not a script."""
    engine = engine_of({"containers": [container(*args)]})
    assert engine is not None
    assert (engine.method, engine.tokens, engine.asks) == (method, tokens, True)
    assert bool(engine.doubt) == (args[0] == "-lc" or args[:2] == ["bash", "/opt/start.sh"])
    assert args[0] == "-lc" or not engine_of({"containers": [container(*engine.baseline)]}).asks  # type: ignore[union-attr]


def test_a_shell_in_the_command_makes_the_args_a_script() -> None:
    """As most platforms write it."""
    engine = engine_of({"containers": [container(SCRIPT, command=["/bin/bash", "-ec"])]})
    assert engine is not None
    assert (engine.method, engine.tokens, engine.port) == ("ngram", 4, 9000)


def test_what_asks_for_none_asks_for_none() -> None:
    """Flags of like names, and values that look like flags."""
    engine = engine_of({"containers": [container("--model=/m", "--served-model-name", "spec")]})
    assert engine is not None
    assert (engine.asks, engine.speculation, engine.baseline) == (False, None, engine.words)


@pytest.mark.parametrize(
    ("given", "port"),
    [
        (container("--port", "9001"), 9001),
        (container("--port=$PORT", ports=[{"containerPort": 8081}]), 8081),
        (container("--http_port=8085"), 8085),
        (container("--port=80800"), 8080),
        (container(), 8080),
        (container(name="vllm"), 8000),
    ],
)
def test_the_port_is_the_flags_or_the_containers_or_the_usual_one(given: dict[str, Any], port: int) -> None:
    """KServe's container listens on 8080, vLLM by itself on 8000."""
    engine = engine_of({"containers": [given]})
    assert engine is not None
    assert engine.port == port


def test_the_engine_is_found_among_others() -> None:
    """By KServe's name, by its flags, by what it runs, by its image; else the first is taken."""
    proxy = {"name": "proxy", "image": "istio"}
    named = [container(), container(f"-sc={NGRAM}", name="a"), container("vllm", name="b"), container(name="c")]
    for index, each in enumerate(named):
        engine = engine_of({"containers": [proxy, *reversed(named[index:])]})
        assert engine is not None
        assert engine.container == each["name"]
    first = engine_of({"containers": [proxy, {"name": "other", "image": "x"}]})
    assert first is not None
    assert first.container == "proxy"
    assert engine_of({"containers": []}) is None


def test_a_script_loses_the_flag_and_nothing_else() -> None:
    """Every other word stays, and a shell reads what is left."""
    found = cut(container("-c", SCRIPT, command=["bash"]))
    assert isinstance(found, Cut)
    assert found.baseline == ["-c", SCRIPT.replace(f"  --speculative-config '{NGRAM}'", "")]
    assert cut(container(*found.baseline, command=["bash"])) is None


def test_what_asks_for_speculation_keeps_values_that_other_flags_have_too() -> None:
    """Four tokens, and four requests at once: both fours are kept apart."""
    args = ["--max-num-seqs", "4", "--spec-method", "ngram", "--spec-tokens", "4"]
    found = engine_of({"containers": [{"name": "kserve-container", "args": args}]})
    assert found is not None
    assert found.speculative == ("--spec-method", "ngram", "--spec-tokens", "4")
    assert found.baseline == ("--max-num-seqs", "4")


def test_an_array_that_a_branch_changes_may_ask_for_speculation() -> None:
    """The guard must not report that there is nothing to guard, and must not change it."""
    script = f"A=(-sc '{NGRAM}')\n[[ -n $X ]] && A+=(--seed 1)\nvllm serve m \"${{A[@]}}\""
    engine = engine_of({"containers": [container("bash", "-c", script)]})
    assert engine is not None
    assert (engine.asks, engine.doubt) == (True, '"${A[@]}" may hold a flag of speculation')
    assert not isinstance(cut(container("bash", "-c", script)), Cut)


@pytest.mark.parametrize(("more", "port"), [({}, 9000), ({"envFrom": [{"secretRef": {"name": "s"}}]}, 8080)])
def test_a_default_of_a_script_is_not_taken_for_a_value_that_env_from_may_set(more: Any, port: int) -> None:
    """Without envFrom only the image could set it."""
    script = "vllm serve m --port ${PORT:-9000}"
    engine = engine_of({"containers": [container(script, command=["sh", "-c"], **more)]})
    assert engine is not None
    assert engine.port == port
