"""The runs of the real engine, as far as no engine is needed: what is asked, what is broken, what is reported."""

import json
import pathlib
import re
import subprocess
import time
from typing import Any

import pytest
from hack.models import tensors
from tests.ports import free_ports

from lab.engine import cases, faulty, lossless, page
from lab.engine.faults import ALL, Layer
from lab.engine.proposer import LastSeen
from lab.engine.runs import prepare
from lab.engine.server import EngineServer, several
from lab.heads import store as heads
from specdec_command.cli.render import rendering


@pytest.mark.parametrize("method", cases.METHODS, ids=lambda each: each.name)
def test_the_operator_starts_every_method_on_a_cpu(method: cases.MethodCase, tmp_path: pathlib.Path) -> None:
    """Its own flags are used, so a method that the operator refuses or misspells is not in the table."""
    flags = method.flags(tmp_path)
    config = json.loads(next(each for each in flags if each.startswith("--speculative-config=")).partition("=")[2])
    assert config["method"] == method.speculation["method"]
    assert f"--model={tmp_path}/{method.target}" in flags
    assert not method.draft or config["model"] == f"{tmp_path}/{method.draft}"


@pytest.mark.parametrize("method", cases.ELSEWHERE[:2], ids=lambda each: each.name)
def test_what_a_cpu_cannot_run_is_a_valid_configuration_for_a_gpu(method: cases.MethodCase) -> None:
    """The operator refuses it on a CPU only."""
    assert rendering(method.spec("nvidia")).flags
    with pytest.raises(Exception, match="CPU"):
        method.flags(pathlib.Path("/models"))


TOKENS, WIDTH = 6, 2


def tensor(rows: int, value: int, columns: int = WIDTH) -> tensors.Tensor:
    """A matrix of bfloat16 numbers, each row of another one."""
    data = b"".join(bytes([value, row]) * columns for row in range(rows))
    return tensors.Tensor(dtype="BF16", shape=(rows, columns), data=data)


@pytest.fixture
def models(tmp_path: pathlib.Path) -> pathlib.Path:
    """All folders that the faults name, in the smallest form that they can be broken in."""
    names = {each for method in cases.METHODS for each in (method.target, method.draft) if each}
    words = {f"w{i}": i for i in range(TOKENS)}
    settings = {"vocab_size": TOKENS, "hidden_size": WIDTH, "eagle_config": {}, "num_nextn_predict_layers": 1}
    found = {
        "model.embed_tokens.weight": tensor(TOKENS, 1),
        "lm_head.weight": tensor(TOKENS, 2),
        "model.norm.weight": tensor(WIDTH, 3, 1),
        "fc.weight": tensor(WIDTH, 4),
        "d2t": tensor(TOKENS, 5),
        "mask_hidden": tensor(1, 6),
        "model.layers.0.mlp.up_proj.weight": tensor(WIDTH, 7),
        "model.mtp_layers.0.input_proj.weight": tensor(WIDTH, 8),
    }
    for name in {*names, "draft-other-vocab"}:
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(json.dumps(settings))
        (tmp_path / name / "tokenizer.json").write_text(json.dumps({"model": {"vocab": words}}))
        tensors.write(tmp_path / name / tensors.FILE, found)
    return tmp_path


def test_tensors_are_read_as_they_were_written(tmp_path: pathlib.Path) -> None:
    """Names, types, shapes, bytes and their order."""
    found = {"b": tensor(3, 9), "a": tensor(1, 4, 5)}
    tensors.write(tmp_path / tensors.FILE, found)
    again = tensors.read(tmp_path / tensors.FILE)
    assert again == found
    assert list(again) == ["b", "a"]


def test_a_renumbered_draft_has_the_same_rows_behind_the_same_words(models: pathlib.Path) -> None:
    """So it proposes the same text, in other numbers; the special tokens keep theirs."""
    before = _row_of_word(models / "draft")
    heads.renumber(models / "draft")
    after = _row_of_word(models / "draft")
    assert {word: row for word, (_, row) in before.items()} == {word: row for word, (_, row) in after.items()}
    moved = [word for word in before if before[word][0] != after[word][0]]
    assert moved
    assert all(before[word][0] >= 3 for word in moved)


def _row_of_word(folder: pathlib.Path) -> dict[str, tuple[int, bytes]]:
    vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    rows = tensors.read(folder / tensors.FILE)["lm_head.weight"].rows()
    return {word: (i, rows[i]) for word, i in vocabulary.items()}


def test_every_fault_breaks_something_and_nothing_else(models: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """The copy of one model differs from the good one, or the spec does; the good models stay as they are."""
    good = _contents(models)
    runs = prepare(ALL, models, models / "scratch")
    assert {name: each for name, each in _contents(models).items() if not name.startswith("scratch")} == good
    for number, (fault, run) in enumerate(zip(ALL, runs, strict=True)):
        folder = models / "scratch" / f"fault-{number:02}"
        assert all(str(folder) in flag for flag in run["flags"] if flag.startswith("--model="))
        base = next(each for each in cases.METHODS if each.name == fault.method)
        copied = {each: _contents(models / each) for each in {base.target, fault.draft or base.draft} if each}
        same = copied == {each: _contents(folder / each) for each in copied}
        assert same == (fault.how is None), fault.what
        assert not same or fault.speculation or fault.draft or fault.flags, fault.what


def _contents(folder: pathlib.Path) -> dict[str, int]:
    return {
        each.relative_to(folder).as_posix(): hash(each.read_bytes()) if each.stat().st_size < 1 << 20 else -1
        for each in folder.rglob("*")
        if each.is_file()
    }


def test_the_table_has_the_faults_that_people_make() -> None:
    """At least 25 kinds, each with a name of its own, and some for every layer."""
    assert len({each.what for each in ALL}) == len(ALL) >= 25
    assert {each.layer for each in ALL} == set(Layer)


@pytest.mark.parametrize(
    ("text", "guessed"),
    [([1, 2, 3, 4, 1, 2], [3, 4, 1, 2]), ([1, 2, 3], []), ([5], []), ([1, 2, 7, 1, 2, 8, 1, 2], [8, 1, 2])],
)
def test_the_own_proposer_goes_on_as_the_text_did_the_last_time(text: list[int], guessed: list[int]) -> None:
    """What followed the last two tokens most recently, K tokens at most."""

    class Config:
        class speculative_config:  # noqa: N801 (vLLM's name)
            num_speculative_tokens = 4

    assert LastSeen(Config()).guess(text) == guessed


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("specdec: refused to start: DraftMissing: /a does not exist: b", ("DraftMissing", "/a does not exist: b")),
        ("specdec: ended: EngineDied: the engine died", ("EngineDied", "the engine died")),
        ("specdec: start {}", None),
        ("(EngineCore) ERROR something: else", None),
    ],
)
def test_the_final_error_of_the_runtime_is_found_in_its_log(line: str, said: tuple[str, str] | None) -> None:
    """Reason and sentence, as the operator gets them from the termination log."""
    found = faulty.SAID.match(line)
    assert (found.groups() if found else None) == said


def test_the_page_is_made_of_the_committed_runs() -> None:
    """docs/engine.md holds the contents of docs/engine/: every method, every fault, and each fault where it belongs."""
    text = (page.FOLDER.parent / "engine.md").read_text(encoding="utf-8")
    assert page.page(text) == text
    found: dict[str, Any] = json.loads((page.FOLDER / "faults.json").read_text(encoding="utf-8"))["runs"]
    assert {name: (each["layer"], each["reason"]) for name, each in found.items()} == {
        each.what: (each.layer, each.word) for each in ALL
    }
    methods = json.loads((page.FOLDER / "methods.json").read_text(encoding="utf-8"))["runs"]
    assert {each.name for each in (*cases.METHODS, *cases.ELSEWHERE)} <= methods.keys()
    assert all(each["identical"] == each["compared"] for each in methods.values() if "compared" in each)
    assert not re.search(r"/fault-\d|/\.cache/", json.dumps([found, methods]))


def test_answers_are_counted_that_equal_the_baselines() -> None:
    """Token by token; an engine that did not answer is not compared."""
    baseline = {"answers": [[1, 2], [3, 4], [5]]}
    found: dict[str, Any] = {"answers": [[1, 2], [3, 5], [5]]}
    lossless.compare(found, baseline)
    assert (found["identical"], found["compared"]) == (2, 3)
    silent: dict[str, Any] = {"exit": 1}
    lossless.compare(silent, baseline)
    assert "compared" not in silent


def test_several_runs_are_written_down_as_they_end_and_returned_in_their_order(tmp_path: pathlib.Path) -> None:
    """What is known is in the file even if a later run takes everything down."""
    out = tmp_path / "out.json"
    runs = [{"name": "slow", "wait": 2.0}, {"name": "quick", "wait": 0.0}, {"name": "third", "wait": 0.0}]

    def do(run: dict[str, Any]) -> dict[str, Any]:
        time.sleep(run["wait"])
        return {"waited": run["wait"]}

    assert list(several(runs, do, out)) == ["slow", "quick", "third"]
    assert list(json.loads(out.read_text())) == ["quick", "third", "slow"]


def test_no_probe_is_started_while_the_engines_port_is_closed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    """A probe is a Python program: two a second compute a good part of what the whole start does."""
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("a probe was started"))
    (port,) = free_ports(1)
    with subprocess.Popen(["sleep", "60"]) as process:
        engine = EngineServer(port=port, process=process, log=tmp_path / "log", began=time.monotonic(), environment={})
        assert not engine.up(1.0)
        process.kill()
