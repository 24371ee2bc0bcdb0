"""specdec_runtime preflight: whatever lies in a folder, the answer is findings and never a traceback."""

import json
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.runtime import models
from tests.unit.runtime.scenes import read

from specdec_engine.accelerators import Accelerator
from specdec_engine.rule import Finding
from specdec_runtime import preflight
from specdec_runtime.preflight import vocabulary
from specdec_runtime.preflight.device import FreeMemory
from specdec_runtime.preflight.surroundings import Surroundings

PLACE = Surroundings(
    engine=(0, 32),
    accelerator=Accelerator.CPU,
    packages=frozenset({"numba"}),
    memory=FreeMemory(where="this host", total=2**40, free=2**40),
)
METHODS = ("draft_model", "eagle", "eagle3", "dflash", "dspark", "medusa", "mtp")

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner))
KNOWN = models.LLAMA | models.EAGLE3 | models.DFLASH | models.MEDUSA | models.MTP
MORE = ("head_dim", "text_config", "model", "eagle_config", "eagle_aux_hidden_state_layer_ids", "target_hidden_size")
SPECULATORS = ("speculators_model_type", "speculators_config", "transformer_layer_config", "quantization_config")
KEYS = sorted({*KNOWN, *MORE, *SPECULATORS})
configs = st.dictionaries(st.sampled_from(KEYS), values | st.integers(0, 9) | st.just(["LlamaForCausalLM"]))


@contextmanager
def two() -> Iterator[tuple[Path, Path]]:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        yield models.llama(place / "t", num_hidden_layers=2), models.llama(place / "d", num_hidden_layers=1)


def look(target: Path, draft: Path, method: str) -> tuple[Finding, ...]:
    return preflight.inspect(read(target, draft, "--max-model-len=1024", method=method), PLACE)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "generation_config.json", "model.safetensors"])
@given(content=st.binary(max_size=200) | values.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_in_any_file_are_a_finding(name: str, content: bytes) -> None:
    """Also a JSON that does not have the format that its name implies."""
    with two() as (target, draft):
        for folder in (target, draft):
            (folder / name).write_bytes(content)
        look(target, draft, "draft_model")


@given(first=configs, second=configs, method=st.sampled_from(METHODS))
def test_any_values_in_both_configs_are_findings(first: Any, second: Any, method: str) -> None:
    """A number where a list belongs, an object where a name does."""
    with two() as (target, draft):
        for folder, config in ((target, first), (draft, second)):
            path = folder / "config.json"
            path.write_text(json.dumps(json.loads(path.read_text()) | config))
        look(target, draft, method)


@given(values=st.dictionaries(st.sampled_from(["num_speculative_tokens", "parallel_drafting", "quantization"]), values))
def test_any_value_in_the_speculative_config_is_a_finding(values: dict[str, Any]) -> None:
    """vLLM complains of its type; the preflight looks at the models."""
    with two() as (target, draft):
        preflight.inspect(read(target, draft, **values), PLACE)


@given(
    entry=st.fixed_dictionaries(
        {"dtype": values | st.sampled_from(["BF16", "F32"]), "shape": values, "data_offsets": values}
    )
    | values
)
def test_any_entry_in_a_header_is_a_finding(entry: Any) -> None:
    """A header that cannot be read, or that does not fit the file, is broken; there is no other finding."""
    with two() as (target, draft):
        text = json.dumps({"a.weight": entry}).encode()
        (draft / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + b"12")
        assert {each.rule.id for each in look(target, draft, "draft_model")} <= {
            "DraftWeightsBroken",
            "DraftTensorsMissing",
        }


@given(cut=st.integers(1, 2000))
def test_weights_that_are_cut_anywhere_are_refused(cut: int) -> None:
    with two() as (target, draft):
        path = draft / "model.safetensors"
        path.write_bytes(path.read_bytes()[:-cut])
        assert [each.rule.id for each in look(target, draft, "draft_model")] == ["DraftWeightsBroken"]


@given(order=st.permutations(range(16)))
def test_any_other_order_of_tokens_is_a_mismatch(order: list[int]) -> None:
    straight = {number: f"t{number}" for number in range(16)}
    other = {number: f"t{order[number]}" for number in range(16)}
    found = vocabulary.compare(straight, other, 16)
    assert (found is None) == (order == list(range(16)))
    assert (vocabulary.fingerprint(straight) == vocabulary.fingerprint(other)) == (found is None)
