"""specdec_runtime preflight: what is refused before vLLM loads anything, and in which words."""

import json
import shutil
from pathlib import Path

import pytest
from tests.unit.runtime import models, scenes
from tests.unit.runtime.faults import rendered
from tests.unit.runtime.scenes import Build, Change, gone, text

from specdec_engine.exit_codes import REFUSED
from specdec_engine.found_engine import DIFFERS
from specdec_engine.rule import Finding, Rule, Severity
from specdec_runtime import __main__ as commands
from specdec_runtime import flags, preflight, refusal


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    return models.write(tmp_path / "target"), models.write(tmp_path / "draft")


def inspect(target: Path, draft: Path | None = None, *more: str, **speculation: object) -> dict[str, Finding]:
    words = [f"--model={target}", *more]
    if draft is not None or speculation:
        config = {"method": "draft_model", "num_speculative_tokens": 4, **speculation}
        words.append("--speculative-config=" + json.dumps(config | ({"model": str(draft)} if draft else {})))
    return {finding.rule.id: finding for finding in preflight.inspect(flags.read(words))}


def only(found: dict[str, Finding], reason: str) -> Finding:
    assert list(found) == [reason]
    return found[reason]


def tokenizer(vocabulary: object, *added: models.Json) -> Change:
    return text("tokenizer.json", json.dumps({"model": {"vocab": vocabulary}, "added_tokens": added}))


def weights(content: bytes) -> Change:
    return lambda folder: (folder / "model.safetensors").write_bytes(content)


SOUND: dict[str, Build] = {
    "a pair": scenes.pair(None, "--max-model-len=1024"),
    "an id beyond the vocabulary's size is padding": scenes.pair(tokenizer(models.WORDS, {"id": 99, "content": "x"})),
    "pieces that are numbered by position": scenes.pair(tokenizer([[each, -1.0] for each in models.WORDS])),
    "dummy weights": scenes.pair(gone("model.safetensors"), "--load-format=dummy"),
    "a tokenizer elsewhere": scenes.on_target(gone("tokenizer.json"), "--tokenizer=/mnt/other"),
    "no tokenizer": scenes.on_target(gone("tokenizer.json"), "--skip-tokenizer-init"),
    "an id of the hub": lambda _: flags.read(["--model=org/model"]),
    "a file of GGUF": lambda folder: flags.read([f"--model={shutil.copy(__file__, folder / 'model.gguf')}"]),
}
UNSOUND: list[tuple[str, Build]] = [
    *(("DraftConfigInvalid", scenes.pair(text("config.json", each))) for each in ("{", "[1]")),
    ("DraftTokenizerInvalid", scenes.pair(tokenizer({"a": 0}, {"id": 5}))),
    ("VocabularyMismatch", scenes.pair(tokenizer(models.WORDS, {"id": 3, "content": "</s>"}))),
    *(
        ("DraftWeightsBroken", scenes.pair(weights(each)))
        for each in (b"\x01\x02", b"\xff" * 8 + b"{}", bytes([2, *[0] * 7]) + b"{]", bytes([3, *[0] * 7]) + b'"x"')
    ),
]


@pytest.mark.parametrize("build", SOUND.values(), ids=SOUND)
def test_what_vllm_serves_has_no_finding(build: Build, tmp_path: Path) -> None:
    assert preflight.inspect(build(tmp_path)) == ()


@pytest.mark.parametrize(("rule", "build"), UNSOUND)
def test_a_file_of_another_form_has_one_finding(rule: str, build: Build, tmp_path: Path) -> None:
    """More of these are in faults.py, with their messages."""
    assert [each.rule.id for each in preflight.inspect(build(tmp_path))] == [rule]


def test_an_embedding_of_another_shape_than_the_config_is_refused(tmp_path: Path, pair: tuple[Path, Path]) -> None:
    """vLLM loads a slice of the larger tensor without an error."""
    wide = models.write(tmp_path / "wide", weights=models.safetensors((4, 3)))
    assert "[4, 3], but config.json requires [4, 2]" in only(inspect(pair[0], wide), "DraftWeightsMismatch").message


def test_they_are_found_where_the_rules_about_engines_find_them(tmp_path: Path, pair: tuple[Path, Path]) -> None:
    """A model that hears has a part about thinking, and the language model's numbers are inside that."""
    nested = {"vocab_size": None, "hidden_size": None, "thinker_config": {"text_config": {"vocab_size": 9}}}
    other = models.write(tmp_path / "other", config=nested, weights=models.safetensors((9, 2)))
    assert "vocab_size 9" in only(inspect(pair[0], other), "VocabularySizeMismatch").message


@pytest.mark.parametrize(
    "flags",
    [["--generation-config=vllm"], ['--override-generation-config={"min_p":0}'], ["--generation-config=/mnt/x"]],
)
def test_the_ways_out_of_a_default_that_is_refused_are_ways_out(pair: tuple[Path, Path], flags: list[str]) -> None:
    (pair[0] / "generation_config.json").write_text('{"min_p": 0.05, "top_k": 20}')
    assert "SamplingNotServed" in inspect(*pair)
    assert inspect(*pair, *flags) == {}
    assert inspect(pair[0]) == {}


def test_only_the_first_broken_stage_speaks(pair: tuple[Path, Path]) -> None:
    """A folder without files would else be refused for its config, its tokenizer, its vocabulary and its weights."""
    (pair[1] / "model.safetensors").write_bytes(b"")
    (pair[1] / "tokenizer.json").write_text('{"model": {"vocab": {"z": 0}}}')
    assert list(inspect(*pair)) == ["DraftWeightsBroken"]


def test_a_refusal_carries_the_first_reason_and_every_sentence(pair: tuple[Path, Path]) -> None:
    for folder in pair:
        (folder / "config.json").unlink()
    findings = preflight.inspect(flags.read([f"--model={pair[0]}", speculating(pair[1])]))
    with pytest.raises(refusal.RefusedError) as caught:
        preflight.enforce(findings)
    assert caught.value.refusal.reason == "TargetConfigInvalid"
    assert str(pair[1] / "config.json") in caught.value.refusal.message


def test_the_operator_gets_the_engine_that_was_found(pair: tuple[Path, Path]) -> None:
    """A refusal without it could not be planned with."""
    around = rendered("vllm 0.33.0", "vllm 0.15.1", (0, 15))
    with pytest.raises(refusal.RefusedError) as caught:
        preflight.enforce(preflight.inspect(flags.read([f"--model={pair[0]}", "--shutdown-timeout=50"]), around))
    assert (caught.value.refusal.reason, caught.value.refusal.found) == (DIFFERS, "vllm 0.15.1")


def test_the_command_looks_at_two_folders_on_any_machine(
    pair: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert commands.main(["preflight", str(pair[0]), str(pair[1])]) == 0
    assert "no problem found" in capsys.readouterr().out
    (pair[1] / "config.json").unlink()
    assert commands.main(["preflight", str(pair[0]), str(pair[1])]) == REFUSED
    assert "refuse: DraftConfigInvalid: --speculative-config model:" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ([], 0, "preflight: no problem found"),
        (["--max-model-len=2048"], 0, "warn: DraftContextShort"),
        (["--method=eagle3", "--tokens=3"], REFUSED, "preflight: refused"),
    ],
)
def test_the_command_takes_what_the_server_will_be_started_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], code: int, said: str
) -> None:
    """Method, K and context decide of a pair as much as its files do."""
    target, draft = models.llama(tmp_path / "t"), models.llama(tmp_path / "d")
    assert preflight.command([str(target), str(draft), *options]) == code
    assert said in capsys.readouterr().out


def test_warnings_and_notes_are_logged_and_the_start_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    found = [
        Rule(id=word, severity=severity, says="-", source="-").broken("--model", None, "a: b; c")
        for word, severity in (("One", Severity.WARNED), ("Two", Severity.NOTED))
    ]
    preflight.enforce(tuple(found))
    assert capsys.readouterr().out.splitlines() == ["specdec: warning: One: a: b; c", "specdec: note: Two: a: b; c"]


def speculating(draft: Path) -> str:
    return "--speculative-config=" + json.dumps({"method": "draft_model", "model": str(draft)})
