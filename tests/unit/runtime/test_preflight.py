"""specdec_runtime preflight: what is refused before vLLM loads anything, and in which words."""

import json
from pathlib import Path

import pytest
from tests.unit.runtime import models

from specdec_engine.exit_codes import REFUSED
from specdec_engine.rule import Finding, Rule, Severity
from specdec_runtime import __main__ as commands
from specdec_runtime import flags, preflight, refusal


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    return models.write(tmp_path / "target"), models.write(tmp_path / "draft")


def inspect(target: Path, draft: Path | None = None, *more: str, **speculation: object) -> dict[str, Finding]:
    """Findings by id for what the operator would render."""
    words = [f"--model={target}", *more]
    if draft is not None or speculation:
        config = {"method": "draft_model", "num_speculative_tokens": 4, **speculation}
        words.append("--speculative-config=" + json.dumps(config | ({"model": str(draft)} if draft else {})))
    return {finding.rule.id: finding for finding in preflight.inspect(flags.read(words))}


def only(found: dict[str, Finding], reason: str) -> Finding:
    assert list(found) == [reason]
    return found[reason]


def test_a_good_pair_has_no_finding(pair: tuple[Path, Path]) -> None:
    assert inspect(*pair, "--max-model-len=1024") == {}


def test_a_plain_server_is_looked_at_as_well(pair: tuple[Path, Path]) -> None:
    (pair[0] / "config.json").unlink()
    assert only(inspect(pair[0]), "TargetConfigInvalid").rule.severity is Severity.REFUSED


def test_ngram_looks_at_the_target_only(pair: tuple[Path, Path]) -> None:
    assert inspect(pair[0], None, method="ngram", prompt_lookup_max=4) == {}


def test_a_missing_draft_is_named_with_its_path_and_the_way_out(pair: tuple[Path, Path]) -> None:
    finding = only(inspect(pair[0], pair[1].with_name("gone")), "DraftMissing")
    assert finding.field == "--speculative-config model"
    assert f"{pair[1].with_name('gone')} does not exist" in finding.message
    assert "check the path" in finding.message


def test_a_file_in_the_place_of_a_folder_is_refused(tmp_path: Path, pair: tuple[Path, Path]) -> None:
    (tmp_path / "file").write_text("")
    only(inspect(tmp_path / "file", pair[1]), "TargetUnreadable")


@pytest.mark.parametrize("text", ["{", "[1]", "\xff"])
def test_a_config_that_is_not_an_object_is_refused(pair: tuple[Path, Path], text: str) -> None:
    (pair[1] / "config.json").write_bytes(text.encode("latin-1"))
    only(inspect(*pair), "DraftConfigInvalid")


def test_a_target_without_a_tokenizer_is_refused(pair: tuple[Path, Path]) -> None:
    (pair[0] / "tokenizer.json").unlink()
    only(inspect(*pair), "TargetTokenizerMissing")


def test_a_broken_tokenizer_is_refused(pair: tuple[Path, Path]) -> None:
    (pair[1] / "tokenizer.json").write_text('{"model": {"vocab": {"a": 0}}, "added_tokens": [{"id": 5}]}')
    only(inspect(*pair), "DraftTokenizerInvalid")


def test_another_vocabulary_size_is_refused_with_both_sizes(tmp_path: Path, pair: tuple[Path, Path]) -> None:
    other = models.write(tmp_path / "other", config={"vocab_size": 6}, weights=models.safetensors((6, models.HIDDEN)))
    finding = only(inspect(pair[0], other), "VocabularySizeMismatch")
    assert "vocab_size 6, but the target has 4" in finding.message
    assert "use_heterogeneous_vocab" in finding.message


def test_a_heterogeneous_vocabulary_may_differ(tmp_path: Path, pair: tuple[Path, Path]) -> None:
    other = models.write(tmp_path / "other", config={"vocab_size": 6}, weights=models.safetensors((6, models.HIDDEN)))
    assert inspect(pair[0], other, use_heterogeneous_vocab=True) == {}


def test_the_same_tokens_under_other_ids_are_refused(tmp_path: Path, pair: tuple[Path, Path]) -> None:
    """vLLM starts such a pair without a word and accepts no draft, ever."""
    permuted = models.write(tmp_path / "permuted", vocabulary={"a": 0, "c": 1, "b": 2, "d": 3})
    finding = only(inspect(pair[0], permuted), "VocabularyMismatch")
    assert "maps 2 ids to other tokens" in finding.message
    assert "first id 1: 'c' instead of 'b'" in finding.message


def test_added_tokens_are_part_of_the_vocabulary(tmp_path: Path) -> None:
    target = models.write(tmp_path / "target", added=[{"id": 3, "content": "<end>"}])
    draft = models.write(tmp_path / "draft", added=[{"id": 3, "content": "</s>"}])
    only(inspect(target, draft), "VocabularyMismatch")


def test_ids_beyond_the_vocabulary_size_are_padding(tmp_path: Path, pair: tuple[Path, Path]) -> None:
    padded = models.write(tmp_path / "padded", added=[{"id": 9, "content": "<unused>"}])
    assert inspect(pair[0], padded) == {}


def test_a_list_vocabulary_equals_the_mapping_with_the_same_ids(tmp_path: Path, pair: tuple[Path, Path]) -> None:
    """Unigram tokenizers number their pieces by position."""
    unigram = models.write(tmp_path / "unigram", vocabulary=[[token, -1.0] for token in models.VOCABULARY])
    assert inspect(pair[0], unigram) == {}


def test_a_draft_without_a_tokenizer_is_served_with_a_warning(pair: tuple[Path, Path]) -> None:
    (pair[1] / "tokenizer.json").unlink()
    assert only(inspect(*pair), "VocabularyNotCompared").rule.severity is Severity.WARNED


def test_a_draft_with_a_short_context_is_served_with_a_warning(tmp_path: Path, pair: tuple[Path, Path]) -> None:
    short = models.write(tmp_path / "short", config={"max_position_embeddings": 256})
    finding = only(inspect(pair[0], short, "--max-model-len=1k"), "DraftContextShort")
    assert finding.rule.severity is Severity.WARNED
    assert "max_position_embeddings 256" in finding.message
    assert "--max-model-len 1000" in finding.message


def test_truncated_weights_are_refused_by_their_size(pair: tuple[Path, Path]) -> None:
    path = pair[1] / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-3])
    finding = only(inspect(*pair), "DraftWeightsBroken")
    assert "should have 16 bytes of tensors, but has 13" in finding.message


@pytest.mark.parametrize(
    "content",
    [b"", b"\x01\x02", b"\xff" * 8 + b"{}", (2).to_bytes(8, "little") + b"{]", (3).to_bytes(8, "little") + b'"x"'],
)
def test_a_file_that_is_not_safetensors_is_refused(pair: tuple[Path, Path], content: bytes) -> None:
    (pair[0] / "model.safetensors").write_bytes(content)
    only(inspect(*pair), "TargetWeightsBroken")


def test_a_shard_that_the_index_names_must_be_there(pair: tuple[Path, Path]) -> None:
    index = {"weight_map": {"x": "model.safetensors", "y": "model-00002.safetensors"}}
    (pair[0] / "model.safetensors.index.json").write_text(json.dumps(index))
    assert "model-00002.safetensors" in only(inspect(*pair), "TargetWeightsBroken").message


def test_a_folder_without_weights_is_refused_unless_dummy_weights_are_asked_for(pair: tuple[Path, Path]) -> None:
    (pair[1] / "model.safetensors").unlink()
    only(inspect(*pair), "DraftWeightsMissing")
    assert inspect(*pair, "--load-format", "dummy") == {}


def test_weights_in_another_format_are_served_with_a_warning(pair: tuple[Path, Path]) -> None:
    (pair[1] / "model.safetensors").rename(pair[1] / "pytorch_model.bin")
    assert only(inspect(*pair), "WeightsNotChecked").rule.severity is Severity.WARNED


def test_an_embedding_of_another_shape_than_the_config_is_refused(tmp_path: Path, pair: tuple[Path, Path]) -> None:
    """vLLM loads a slice of the larger tensor without an error."""
    wide = models.write(tmp_path / "wide", weights=models.safetensors((4, 3)))
    assert "[4, 3], but config.json requires [4, 2]" in only(inspect(pair[0], wide), "DraftWeightsMismatch").message


def test_packed_weights_have_shapes_of_their_own(tmp_path: Path, pair: tuple[Path, Path]) -> None:
    stored = models.file({"model.embed_tokens.weight": ("U8", (4, 3))})
    packed = models.write(tmp_path / "packed", weights=stored)
    assert inspect(pair[0], packed) == {}


def test_sizes_are_also_found_in_the_text_config_of_a_multimodal_model(tmp_path: Path, pair: tuple[Path, Path]) -> None:
    nested = {"vocab_size": None, "text_config": {"vocab_size": 9, "hidden_size": 2}}
    other = models.write(tmp_path / "other", config=nested, weights=models.safetensors((9, 2)))
    assert "vocab_size 9" in only(inspect(pair[0], other), "VocabularySizeMismatch").message


def test_they_are_found_where_the_rules_about_engines_find_them(tmp_path: Path, pair: tuple[Path, Path]) -> None:
    """A model that hears has a part about thinking, and the language model's numbers are inside that."""
    nested = {"vocab_size": None, "hidden_size": None, "thinker_config": {"text_config": {"vocab_size": 9}}}
    other = models.write(tmp_path / "other", config=nested, weights=models.safetensors((9, 2)))
    assert "vocab_size 9" in only(inspect(pair[0], other), "VocabularySizeMismatch").message


def test_a_hub_id_is_left_to_vllm() -> None:
    assert preflight.inspect(flags.read(["--model=org/model"])) == ()


@pytest.mark.parametrize(
    "flags",
    [["--generation-config=vllm"], ['--override-generation-config={"min_p":0}'], ["--generation-config=/mnt/x"]],
)
def test_the_ways_out_of_a_default_that_is_refused_are_ways_out(pair: tuple[Path, Path], flags: list[str]) -> None:
    (pair[0] / "generation_config.json").write_text('{"min_p": 0.05, "top_k": 20}')
    assert "SamplingNotServed" in inspect(*pair)
    assert inspect(*pair, *flags) == {}
    assert inspect(pair[0]) == {}


def test_a_single_file_of_gguf_is_left_to_vllm(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    assert preflight.inspect(flags.read([f"--model={tmp_path / 'model.gguf'}"])) == ()


@pytest.mark.parametrize("flag", ["--tokenizer=/mnt/other", "--skip-tokenizer-init"])
def test_a_tokenizer_may_lie_elsewhere(pair: tuple[Path, Path], flag: str) -> None:
    (pair[0] / "tokenizer.json").unlink()
    assert inspect(pair[0], None, flag) == {}


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


def test_every_refusal_has_field_value_rule_and_way_out(pair: tuple[Path, Path]) -> None:
    """The sentence is `value: rule; way out`, and the field is a flag."""
    (pair[0] / "config.json").unlink()
    (pair[1] / "model.safetensors").write_bytes(b"")
    for finding in inspect(*pair).values():
        assert finding.field.startswith("--")
        value, rest = finding.message.split(": ", 1)
        assert value
        assert rest.count("; ") >= 1


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
    """Each by its name, as one line."""
    found = [
        Rule(id=word, severity=severity, says="-", source="-").broken("--model", None, "a: b; c")
        for word, severity in (("One", Severity.WARNED), ("Two", Severity.NOTED))
    ]
    preflight.enforce(tuple(found))
    assert capsys.readouterr().out.splitlines() == ["specdec: warning: One: a: b; c", "specdec: note: Two: a: b; c"]


def speculating(draft: Path) -> str:
    return "--speculative-config=" + json.dumps({"method": "draft_model", "model": str(draft)})
