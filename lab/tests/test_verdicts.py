"""How agreement with an engine is counted, what is drawn, and what is asked of a pretended device."""

import gzip
import json
import pathlib
from typing import Any

import pytest

from lab.verdicts import __main__ as command
from lab.verdicts import ask, samples
from lab.verdicts.agree import agreement
from lab.verdicts.draw import drawn

KINDS = json.loads(command.KINDS.read_text())
SPECULATION = {"method": "ngram", "num_speculative_tokens": 3}
LINE = {"version": "0.33.0", "platform": "cuda", "target": "llama", "draft": None, "speculative_config": SPECULATION}
FLAGS: dict[str, dict[str, Any]] = {
    "sound": {},
    "refused": {"max_num_seqs": "many"},
    "blind": {"disable_log_stats": True},
}


def recorded(folder: pathlib.Path, *verdicts: tuple[str, bool], **more: Any) -> pathlib.Path:
    """A file of verdicts on configurations by name."""
    lines = [
        {**LINE, "id": f"{number}", "engine_args": FLAGS[name], "ok": ok, **more}
        for number, (name, ok) in enumerate(verdicts)
    ]
    path = folder / "verdicts.jsonl.gz"
    path.write_bytes(gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode()))
    return path


def test_each_way_to_differ_is_counted_apart(tmp_path: pathlib.Path) -> None:
    """A refusal of what the engine accepts is false; one by a rule that is stricter than the engine is not."""
    path = recorded(tmp_path, ("sound", True), ("sound", False), ("refused", True), ("refused", False), ("blind", True))
    found = agreement(path, KINDS)
    counted = {name: found[name] for name in ("cases", "agree", "false_refusals", "accepted", "stricter")}
    assert counted == {"cases": 5, "agree": 3, "false_refusals": 1, "accepted": 1, "stricter": 1}
    assert [each["id"] for each in found["first_differences"]] == ["1", "2"]


def test_a_failure_of_the_recording_machine_is_not_a_case(tmp_path: pathlib.Path) -> None:
    """The rules cannot foretell that Triton was missing there."""
    assert agreement(recorded(tmp_path, ("sound", False), platform_specific=True), KINDS)["cases"] == 0


def test_the_command_prints_a_line_of_json_for_each_file(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """For users who count further."""
    path = str(recorded(tmp_path, ("sound", True)))
    assert command.main(["agree", "--models", str(command.KINDS), "--json", path, path]) == 0
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["agree"] for each in said] == [1, 1]
    assert command.main(["no-such-command"]) == 2


def test_a_seed_draws_the_same_cases() -> None:
    """So that a difference can be asked for again; another seed draws others."""
    first = list(drawn(7, 30, "npu"))
    assert first == list(drawn(7, 30, "npu"))
    assert [each["engine_args"] for each in first] != [each["engine_args"] for each in drawn(8, 30, "npu")]


def test_what_is_drawn_can_be_judged() -> None:
    """All its models are known, and the rules have a word on each."""
    for each in drawn(1, 200, "cuda"):
        assert {each["target"], each["draft"]} - {None} <= KINDS.keys()


def test_a_case_is_the_command_line_that_the_server_gets() -> None:
    """Switches, objects and words as they are; a sample's line as it was rendered."""
    line = {**LINE, "engine_args": {"enable_lora": False, "compilation_config": {"a": 1}, "max_num_seqs": 8}}
    assert ask.argv(line) == [
        *("--model", ask.TARGET, "--no-enable-lora", "--compilation-config", '{"a": 1}', "--max-num-seqs", "8"),
        *("--speculative-config", json.dumps(SPECULATION)),
    ]
    assert ask.argv({"argv": ["--model=/mnt/target/model"]}) == ["--model=/mnt/target/model"]


def test_models_are_folders_with_a_config(tmp_path: pathlib.Path) -> None:
    """Broken ones too; what the case before had is gone."""
    ask.folders({"target": "llama", "draft": "d-badjson"}, KINDS, tmp_path)
    assert json.loads((tmp_path / "mnt/target/model/config.json").read_text()) == KINDS["llama"]
    assert (tmp_path / "mnt/draft/model/config.json").read_text() == "{ not json"
    ask.folders({"target": "llama", "draft": None}, KINDS, tmp_path)
    assert not (tmp_path / "mnt/draft").joinpath("model").exists()


@pytest.mark.parametrize(("accelerator", "version"), [("nvidia", "0.33.0"), ("ascend", "0.23.0"), ("cpu", "0.32.0")])
def test_every_sample_is_accepted_by_its_engine(accelerator: str, version: str) -> None:
    """As recorded of the engine's own configuration code; a sample that renders what no other does has to be asked:
    python -m lab.verdicts samples."""
    text = (command.KINDS.parent / f"samples-{accelerator}.jsonl").read_text()
    said = {samples.question(each): each for each in map(json.loads, text.splitlines())}
    asked = {each["id"]: samples.question(each) for each in samples.cases(accelerator)}
    assert {each["id"] for each in said.values()} <= asked.keys(), "the sample is gone"
    assert {name for name, question in asked.items() if question not in said} == set(), "to be asked"
    assert {(each["version"], each["ok"]) for each in said.values()} == {(version, True)}
