"""Lines of recordings, and invalid lines."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lab.verdicts.judge import judge
from tests.unit.engine.cases import KINDS

from specdec_engine.tables import table

SPECULATION = {"method": "draft_model", "model": "/mnt/draft/model", "num_speculative_tokens": 3}
BLOCK = {"rejection_sample_method": "block"}
LINE = {
    "id": "a",
    "version": "0.32.0",
    "target": "llama",
    "draft": "d-llama",
    "speculative_config": SPECULATION,
    "engine_args": {},
}
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=6,
)


def said(**changes: Any) -> dict[str, Any]:
    return judge({**LINE, **changes}, KINDS)


def asked(**changes: Any) -> dict[str, Any]:
    """The judgement with changes in the speculative configuration."""
    return said(speculative_config={**SPECULATION, **changes})


def test_a_sound_line() -> None:
    assert said() == {"id": "a", "ok": True, "engine_ok": True, "rules": [], "message": ""}


@pytest.mark.parametrize(
    ("judgement", "ok", "engine_ok", "rule"),
    [
        (asked(num_speculative_tokens=0), False, False, "K-TYPE"),
        (asked(num_speculative_tokens=129), False, True, "K-128"),
        (asked(model="someorg/some-draft"), False, False, "MODEL-FOLDER"),
        (asked(model="/mnt/target/model"), True, True, "DRAFT-ITSELF"),
        (said(draft="d-llama-v2050"), False, False, "VOCAB-EQUAL"),
        (said(draft="d-badjson"), False, False, "MODEL-FOLDER"),
        (said(speculative_config="null", raw=True), False, True, "JSON-OFF"),
        (said(speculative_config=None, cli_extra=["--spec-tokens", "x"]), False, False, "ARG-VALUE"),
        (said(speculative_config={"method": "suffix"}), False, False, "SUFFIX-PACKAGE"),
        (said(env={"VLLM_USE_V2_MODEL_RUNNER": "1"}), False, False, "V2-TRITON"),
    ],
)
def test_the_judgement_of_a_line(*, judgement: dict[str, Any], ok: bool, engine_ok: bool, rule: str) -> None:
    assert (judgement["ok"], judgement["engine_ok"]) == (ok, engine_ok)
    assert rule in judgement["rules"]


def test_the_platform_alone_counts_if_the_line_requires_it() -> None:
    """Old CPU engines do not speculate at all. A recording made on such an engine is not a request to deploy there."""
    old = {"version": "0.15.1"}
    assert said(**old)["ok"]
    assert "CPU-SPECULATION" in said(**old, platform_specific=True)["rules"]
    block = {**LINE, "draft": "d-eagle3", "speculative_config": {**SPECULATION, "method": "eagle3", **BLOCK}}
    assert judge(block, KINDS)["ok"]
    assert "BLOCK-RUNNER" in judge({**block, "platform_specific": True}, KINDS)["rules"]


KEYS = [key for name in table("fields")["fields"] for key in (name, name.replace("_", "-"))]
VALUES = st.one_of(JSON, st.sampled_from(["3", "yes", "abc", 3, 2.0, True, *table("methods")["methods"]]))


@given(
    st.dictionaries(st.one_of(st.text(max_size=8), st.sampled_from(KEYS)), VALUES),
    st.dictionaries(st.sampled_from(["max_num_seqs", "compilation_config", "additional_config", "quantization"]), JSON),
    st.sampled_from(["0.11.2", "0.15.1", "0.20.2", "0.25.1", "0.32.0", "0.33.0"]),
)
def test_any_configuration_is_judged(speculation: dict[str, Any], args: dict[str, Any], version: str) -> None:
    """Whatever stands in the objects, and never the same line twice differently."""
    line = {**LINE, "speculative_config": speculation, "engine_args": args, "version": version}
    assert judge(line, KINDS) == judge(line, KINDS)


@given(JSON, JSON)
def test_any_model_is_judged(target: Any, draft: Any) -> None:
    """Configs are users' files too."""
    kinds = {"llama": target, "d-llama": draft}
    for method in ("draft_model", "eagle3", "mtp", "medusa", "dflash"):
        speculation = {"method": method, "model": "/mnt/draft/model", "num_speculative_tokens": 3}
        assert isinstance(judge({**LINE, "speculative_config": speculation}, kinds)["ok"], bool)
