"""What is served in which state, with which flags and folders, and what is refused with an error message."""

import json
from typing import Any

import pytest
from tests.unit.builders import DRAFT, NAME, Body, make_rollback, make_spec, make_state

from specdec_operator.engine.owned_flags import OWNED_FLAGS
from specdec_operator.errors import Invalid
from specdec_operator.guard.state import Phase
from specdec_operator.render.plan import Plan, plan, refuse
from specdec_operator.staging.kserve import KServe

BASE = ("--model=/mnt/target/model", f"--served-model-name={NAME}")


def planned(state: Any = None, **spec: Any) -> Plan:
    return plan(make_spec(**spec), state or make_state(), name=NAME)


def draft(**changes: Any) -> Body:
    return {"speculation": DRAFT | {"draft": changes}}


@pytest.mark.parametrize(
    ("spec", "flags"),
    [
        ({}, ['--speculative-config={"method":"draft_model","model":"/mnt/draft/model","num_speculative_tokens":4}']),
        ({"speculation": None}, []),
        (
            {"speculation": {"method": "ngram", "tokens": 3}},
            ['--speculative-config={"method":"ngram","num_speculative_tokens":3}'],
        ),
        (
            {"speculation": {"method": "ngram", "tokens": 3, "ngram": {"lookupMin": 1}}},
            [
                '--speculative-config={"method":"ngram","num_speculative_tokens":3,'
                '"prompt_lookup_max":5,"prompt_lookup_min":1}'
            ],
        ),
        (
            {"speculation": None, "engine": {"maxModelLen": 64, "maxNumSeqs": 2, "enforceEager": True}},
            ["--max-model-len=64", "--max-num-seqs=2", "--enforce-eager"],
        ),
        ({"speculation": None, "engine": {"gpuMemoryUtilization": 0.5}}, ["--gpu-memory-utilization=0.5"]),
        ({"speculation": None, "engine": {"args": ["--seed=1", "--b"]}}, ["--seed=1", "--b"]),
    ],
)
def test_the_flags_are_flags_of_vllm(spec: Body, flags: list[str]) -> None:
    """In a fixed order; the speculation is one JSON with sorted keys."""
    args = planned(**spec).args
    assert args == (*BASE, *flags)
    assert all(json.loads(arg.partition("=")[2]) for arg in args if arg.startswith("--speculative-config"))


def test_further_names_follow_the_first() -> None:
    """As words of their own: with `=` the engine takes one value."""
    args = planned(model={"uri": "pvc://models", "name": "llama-8b", "aliases": ["a", "b/c"]}).args
    assert args[1:5] == ("--served-model-name", "llama-8b", "a", "b/c")


ADAPTERS: list[dict[str, object]] = [
    {"name": "sql", "uri": "pvc://models/sql"},
    {"name": "chat", "uri": "hf://org/chat:1", "rank": 40},
]


def adapted(adapters: list[dict[str, object]], *args: str) -> tuple[str, ...]:
    model = {"uri": "pvc://models", "path": "llama", "adapters": adapters}
    return planned(speculation=None, model=model, engine={"accelerator": "cpu", "args": list(args)}).args


def test_adapters_are_served_by_name_with_room_for_all_of_them() -> None:
    """Of the rank that the engine knows and the largest of them needs."""
    modules = ("--lora-modules", "sql=/mnt/adapters/0/model", "chat=/mnt/adapters/1/model")
    assert adapted(ADAPTERS) == (*BASE, *modules, "--enable-lora", "--max-loras=2", "--max-lora-rank=64")
    assert adapted(ADAPTERS[:1]) == (*BASE, *modules[:2], "--enable-lora")
    inside: list[dict[str, object]] = [{"name": "sql", "path": "sql"}]
    assert "sql=/mnt/adapters/0/model" in adapted(inside)


def test_the_users_own_limits_of_adapters_win() -> None:
    """They know how many are asked for at once."""
    args = adapted(ADAPTERS, "--max-loras=1", "--max-lora-rank=256")
    assert [each for each in args if each.startswith("--max-lora")] == ["--max-loras=1", "--max-lora-rank=256"]


@pytest.mark.parametrize("arg", ["--enable-lora", "--lora-modules=a=/x"])
def test_flags_that_adapters_stand_for_are_not_given_twice(arg: str) -> None:
    """Without adapters they are the user's own."""
    with pytest.raises(Invalid, match="the operator renders this flag"):
        adapted(ADAPTERS, arg)
    assert arg in adapted([], arg)


@pytest.mark.parametrize("more", [{"aliases": [NAME]}, {"aliases": ["a", "a"]}, {"adapters": ADAPTERS[:1] * 2}])
def test_no_two_names_are_equal(more: dict[str, object]) -> None:
    """The engine would answer for one of them."""
    with pytest.raises(Invalid, match="must be unique"):
        planned(model={"uri": "pvc://models", "path": "llama", **more})


@pytest.mark.parametrize("flag", [*OWNED_FLAGS, "-sc", "--speculative_config", "--speculative-config.method"])
@pytest.mark.parametrize("value", ["", "=x"])
def test_flags_that_the_operator_renders_are_refused(flag: str, value: str) -> None:
    """In every spelling that vLLM takes; the message has the field, the value, and the fix."""
    with pytest.raises(Invalid) as refused:
        planned(engine={"args": ["--seed=1", flag + value]})
    assert refused.value.message == (
        f"spec.engine.args[1]: {flag + value!r}: the operator renders this flag from the spec; use its field"
    )


@pytest.mark.parametrize("args", [["--models=x"], ["--seed=--model"], ["--portal"]])
def test_flags_that_only_look_similar_are_taken(args: list[str]) -> None:
    """Whole flags are compared, not beginnings."""
    assert planned(speculation=None, engine={"args": args}).args == (*BASE, *args)


def test_flags_name_the_folders_of_the_layout() -> None:
    """Below the one mount where an artifact holds both; else the two places that every service has."""
    both = planned(**{"model": {"uri": "hf://a/b:1", "path": "t"}} | draft(path="d"))
    assert both.args[0] == "--model=/mnt/target/model/t"
    assert '"model":"/mnt/target/model/d"' in both.args[-1]
    assert (both.layout.target, both.layout.draft) == ("/mnt/target/model/t", "/mnt/target/model/d")
    apart = planned(**{"model": {"uri": "pvc://a", "path": "t"}} | draft(uri="oci://registry.example/d:1", path="d"))
    assert apart.args[0] == "--model=/mnt/target/model"
    assert '"model":"/mnt/draft/model/d"' in apart.args[-1]


def test_what_this_kserve_leaves_out_is_refused_and_an_unknown_kserve_is_warned_of() -> None:
    """With the rule's name; a KServe that is not known bars nothing."""
    mix = {"model": {"uri": "hf://a/b:1"}} | draft(uri="oci://registry.example/d:1")
    old, new = (plan(make_spec(**mix), make_state(), name=NAME, kserve=KServe(version=(0, v))) for v in (19, 22))
    with pytest.raises(Invalid, match=r"^spec\.speculation\.draft\.uri: .*KServe 0\.20 .*\(rule KSERVE-LACKS\)$"):
        refuse(old)
    refuse(new)
    assert "KSERVE-NEWER" in [each.rule.id for each in new.warnings]
    assert planned(**mix).refused == ()


def test_a_rollback_is_refused_only_for_the_target() -> None:
    """The way out of a speculation whose draft this KServe cannot bring stays open."""
    state = make_state(Phase.RESPONDING, rollback=make_rollback())
    mix = {"model": {"uri": "hf://a/b:1"}} | draft(uri="oci://registry.example/d:1")
    plain = [plan(make_spec(**mix), state, name=NAME, kserve=KServe(version=(0, v))) for v in (13, 15, 19)]
    assert [len(each.refused) for each in plain] == [1, 0, 0]
