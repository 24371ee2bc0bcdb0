"""The method: what it needs, and what the engine makes of it."""

from collections.abc import Iterator
from typing import Final

from specdec_operator.engine.families import drafts_itself
from specdec_operator.engine.reading import takes
from specdec_operator.engine.rule import Finding
from specdec_operator.engine.rules.making import RECORDED, SPECULATIVE, noted, refused, shown, stricter, warned
from specdec_operator.engine.settled import WITHOUT_DRAFT, Settled
from specdec_operator.engine.tables import table

OMITTED: Final = warned(
    "METHOD-OMITTED", "Without a method the engine guesses it from the draft's path and model type.", SPECULATIVE
)
REPLACED: Final = stricter(
    "METHOD-REPLACED", "A method is silently replaced by what the draft's path or model type says.", RECORDED
)
MODEL: Final = refused("MODEL-MISSING", "The method needs a model to draft with.", SPECULATIVE)
FAMILY: Final = refused(
    "MTP-FAMILY", "Multi-token prediction needs a model whose family has drafting heads.", SPECULATIVE
)
DRAFT_0_14: Final = refused(
    "DRAFT-MODEL-SINCE", "Draft models work since 0.15.", "engine/arg_utils.py _check_feature_supported", until="0.14"
)
NONE_FOUND: Final = refused("METHOD-NONE", "The engine must be able to tell a method from the draft.", SPECULATIVE)
MLP: Final = stricter(
    "MLP-SPECULATOR", "mlp_speculator has no proposer: it never worked on this engine.", "v1/spec_decode", until="0.32"
)
ALIAS: Final = noted("METHOD-ALIAS", "All *_mtp words are deprecated names of mtp.", SPECULATIVE)
CLASS: Final = stricter(
    "CUSTOM-CLASS-PATH",
    "A custom proposer is a dotted Python name; a path or a bare word is not looked at before load.",
    RECORDED,
    since="0.22",
)
UNUSED: Final = warned("KEY-UNUSED", "A key that the method does not use has no effect.", RECORDED)
NEEDLESS_MODEL: Final = warned(
    "MODEL-UNUSED", "The method drafts without a model; the one given is not read.", RECORDED
)
SHARE: Final = refused(
    "INDEX-SHARE-METHOD", "`index_share_for_mtp_iteration` works with mtp only.", SPECULATIVE, since="0.29"
)
TOPK_METHOD: Final = refused("TOPK-METHOD", "`dspark_draft_topk` works with dspark only.", SPECULATIVE, since="0.28")
V41: Final = refused(
    "MTP-DEEPSEEK-V41", "DeepSeek V4.1 checkpoints hold dspark stages, no classic heads.", SPECULATIVE, since="0.30"
)

RULES: Final = (
    OMITTED,
    REPLACED,
    MODEL,
    FAMILY,
    DRAFT_0_14,
    NONE_FOUND,
    MLP,
    ALIAS,
    CLASS,
    UNUSED,
    NEEDLESS_MODEL,
    SHARE,
    TOPK_METHOD,
    V41,
)

_NEEDS_MODEL: Final = frozenset(
    ("draft_model", "eagle", "eagle3", "medusa", "dflash", "mlp_speculator", "custom_class")
)
_ABOUT_ALL: Final = frozenset(("method", "model", "tensor_parallel_size", "disable_by_batch_size"))


def check(settled: Settled) -> Iterator[Finding]:
    """Which method was asked for, and which runs."""
    if not settled.speculates or any(each.key in ("method", "model") for each in settled.reading.misread):
        return
    yield from _asked(settled)
    yield from _modelled(settled)
    yield from _ran(settled)
    yield from _unused(settled)


def _asked(settled: Settled) -> Iterator[Finding]:
    word, given = settled.value("method"), settled.value("model")
    if word is None:
        message = f"name the method; the engine makes {settled.method or 'nothing'} of this"
        yield OMITTED.broken("speculative_config.method", None, message)
    elif word != settled.word and settled.word == "mtp":
        yield ALIAS.broken("speculative_config.method", word, f"{word} is the old name of mtp; write mtp")
    if word == "draft_model" and not settled.at_least("0.15"):
        message = f"{settled.case.build} has no draft models; they work since 0.15"
        yield DRAFT_0_14.broken("speculative_config.method", word, message)
    if settled.word == "mlp_speculator":
        message = "mlp_speculator has no proposer in this engine; use eagle3, mtp or ngram"
        yield MLP.broken("speculative_config.method", word, message)
    if settled.word == "custom_class" and isinstance(given, str) and not _dotted(given):
        message = f"{shown(given)} is no Python class; write it as package.module.Class"
        yield CLASS.broken("speculative_config.model", given, message)


def _dotted(name: str) -> bool:
    parts = name.split(".")
    return len(parts) >= 2 and all(part.isidentifier() for part in parts)


def _modelled(settled: Settled) -> Iterator[Finding]:
    """Whether a model is there where the method needs one."""
    given, word = settled.value("model"), settled.word
    needs = word in _NEEDS_MODEL or (not word and not settled.at_least("0.17"))
    if given is None and needs and settled.k is not None:
        message = f"{word or 'the configuration'} needs `model`, the folder of the model that drafts"
        yield MODEL.broken("speculative_config.model", None, message)
    if given is not None and word in WITHOUT_DRAFT - {"custom_class"} and given not in (word, "ngram", "[ngram]"):
        yield NEEDLESS_MODEL.broken("speculative_config.model", given, f"{word} reads no model; remove it")


def _ran(settled: Settled) -> Iterator[Finding]:
    """What the engine makes of it once it has seen the draft."""
    asked, method = settled.value("method"), settled.method
    if method == "":
        yield from _nothing(settled)
        return
    if method == "mtp" and settled.target is not None and settled.target.model_type == "deepseek_v41":
        yield V41.broken("target.model_type", "deepseek_v41", "use the method dspark")
    if asked and method and method != _expected(asked):
        message = f"the engine runs {method} here, not {asked}: the draft's path or model type says so"
        yield REPLACED.broken("speculative_config.method", asked, message)
    if settled.value("index_share_for_mtp_iteration") is not None and method not in ("mtp", None):
        value = settled.value("index_share_for_mtp_iteration")
        yield SHARE.broken("speculative_config.index_share_for_mtp_iteration", value, f"remove it with {method}")
    drafted = settled.opens is not None and method not in ("dspark", None)
    if settled.value("dspark_draft_topk") is not None and drafted:
        value = settled.value("dspark_draft_topk")
        yield TOPK_METHOD.broken("speculative_config.dspark_draft_topk", value, f"remove it with {method}")


def _expected(asked: str) -> str:
    """The method behind a word: deprecated names all mean mtp."""
    return str(table("methods")["methods"][asked].get("alias_of", asked))


def _nothing(settled: Settled) -> Iterator[Finding]:
    """The engine finds no method: the draft is of no kind that it drafts with."""
    if settled.draft is None:
        return
    kind = settled.draft.model_type
    if settled.word == "mtp" and not drafts_itself(settled.draft, settled.version):
        message = f"{kind} has no drafting heads; use another method, such as eagle3, draft_model or ngram"
        yield FAMILY.broken("draft.model_type", kind, message)
    else:
        message = f"{settled.case.build} cannot tell a method from a draft of the type {kind}"
        yield NONE_FOUND.broken("speculative_config.method", settled.value("method"), message)


def _unused(settled: Settled) -> Iterator[Finding]:
    if not settled.method:
        return
    for key, value in settled.reading.values.items():
        if key not in _ABOUT_ALL and value not in (False, None) and not takes(key, settled.method):
            message = f"{key} has no effect with {settled.method}; remove it"
            yield UNUSED.broken(f"speculative_config.{key}", value, message)
