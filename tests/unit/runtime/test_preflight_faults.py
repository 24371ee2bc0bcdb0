"""specdec_runtime preflight: every fault that it knows, and the finding on it."""

import os
import struct
import time
from pathlib import Path

import pytest
from tests.unit.runtime import models
from tests.unit.runtime.faults import FAULTS
from tests.unit.runtime.scenes import Fault, data, gone, pair, read

from specdec_engine.rule import Severity
from specdec_runtime import preflight
from specdec_runtime.preflight.finding import ROLE


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.what)
def test_every_fault_is_found_and_nothing_else(fault: Fault, tmp_path: Path) -> None:
    """What follows from the fault is not reported. A message is `value: rule; way out`, and its field is a flag."""
    found = preflight.inspect(fault.build(tmp_path), fault.around)
    ids = {each.rule.id for each in found} - ({"MemoryNotMeasured"} if fault.id != "MemoryNotMeasured" else set())
    assert ids == {fault.id}
    assert any(fault.words in each.message for each in found), [each.message for each in found]
    for each in found:
        value, colon, rest = each.message.partition(": ")
        assert each.field.startswith("--")
        assert (bool(value), bool(colon), "; " in rest) == (True, True, True), each.message


def test_every_rule_has_a_fault_that_breaks_it() -> None:
    """A rule that nothing breaks is not known to work."""
    broken = {each.id for each in FAULTS}
    names = {rule.id: {rule.id.replace(ROLE, role) for role in ("Target", "Draft")} for rule in preflight.RULES}
    assert [rule for rule, ids in names.items() if not ids & broken] == []
    assert len(names) == len(preflight.RULES)


def test_the_rules_have_the_severity_of_their_findings(tmp_path: Path) -> None:
    """The page is made of the rules; a finding takes its severity from its rule."""
    severities = {rule.id: rule.severity for rule in preflight.RULES}
    (found,) = preflight.inspect(pair(gone("tokenizer.json"))(tmp_path))
    assert (found.rule.severity, severities[found.rule.id]) == (Severity.WARNED, Severity.WARNED)


def test_a_stretch_of_damage_at_the_end_of_a_large_file_is_found(tmp_path: Path) -> None:
    """200 kB of 64 MB: a stretch for every 300 kB would miss it more often than not, so ends are looked at."""
    folder = models.llama(tmp_path / "t", num_hidden_layers=1)
    draft = models.write(
        tmp_path / "d",
        config=models.LLAMA | {"architectures": ["OtherForCausalLM"]},
        vocabulary=models.WORDS,
        weights=models.stored({f"model.layers.{at}.mlp.up_proj.weight": (1000, 2000) for at in range(16)}),
    )
    path = draft / "model.safetensors"
    with path.open("r+b") as file:
        file.seek(-200_000, os.SEEK_END)
        spoilt = bytes(each ^ 0xFF for each in file.read())
        file.seek(-200_000, os.SEEK_END)
        file.write(spoilt)
    started = time.monotonic()
    (found,) = preflight.inspect(read(folder, draft))
    assert found.rule.id == "DraftWeightsUnsound"
    assert time.monotonic() - started < 2


@pytest.mark.parametrize(("kind", "bad"), [("F16", struct.pack("<e", float("nan"))), ("F32", struct.pack("<f", 1e9))])
def test_numbers_are_read_in_every_plain_type(tmp_path: Path, kind: str, bad: bytes) -> None:
    """A type that was decoded wrongly would look unsound where it is sound, or the other way round."""
    target = models.llama(tmp_path / "t")
    draft = models.llama(tmp_path / "d", num_hidden_layers=1)
    shapes = models.decoder(models.LLAMA | {"num_hidden_layers": 1})
    (draft / "model.safetensors").write_bytes(models.stored(shapes, kind))
    assert preflight.inspect(read(target, draft)) == ()
    data(lambda raw: bad + raw[len(bad) :])(draft)
    assert [each.rule.id for each in preflight.inspect(read(target, draft))] == ["DraftWeightsUnsound"]
