"""Checkpoints in the format of speculators: they name their verifier and settings, and vLLM takes only a part of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specdec_engine.rule import Finding, Severity
from specdec_engine.tables import table
from specdec_engine.version import NEWEST, Version, holds, minor_text
from specdec_runtime.preflight.case import whole
from specdec_runtime.preflight.finding import FolderRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from specdec_runtime.preflight.case import PreflightCase

TARGET: Final = FolderRule(
    id="TargetIsSpeculator",
    severity=Severity.REFUSED,
    when="the target's config.json has speculators_model_type",
    says="--model is the target, not the head.",
    without="The engine instead downloads and serves the verifier that the head names.",
    source="transformers_utils/config.py, 0.32",
)
TYPE: Final = FolderRule(
    id="SpeculatorsTypeUnknown",
    severity=Severity.REFUSED,
    when=(
        f"the draft's config.json has speculators_model_type; the engine's version is known, up to {minor_text(NEWEST)}"
    ),
    says="This vLLM supports checkpoints of that type.",
    without="`Expected one of: ... Please ensure you're loading a speculators-format model.`",
    source="transformers_utils/configs/speculators/algos.py, 0.11 to 0.33",
)
VERIFIER: Final = FolderRule(
    id="VerifierMismatch",
    severity=Severity.WARNED,
    when=(
        "the draft's speculators_config names a verifier, and the target's config.json has its own name (_name_or_path)"
    ),
    says="The verifier is the target.",
    without="No error; a head of another target drafts badly.",
    source="-",
)
SETTINGS: Final = FolderRule(
    id="SpeculatorsSettingsIgnored",
    severity=Severity.WARNED,
    when="the draft's speculators_config names a number of tokens, or the draft is a peagle",
    says="num_speculative_tokens and parallel_drafting match its training.",
    without="No error: the engine does not read these settings from the checkpoint of a draft.",
    source="transformers_utils/configs/speculators/base.py, 0.32",
)
RULES: Final = (TARGET, TYPE, VERIFIER, SETTINGS)


def target(case: PreflightCase) -> Iterator[Finding]:
    """The head is not given in the place of the target."""
    kind = case.target.settings.text("speculators_model_type")
    if kind is not None:
        verifier = case.target.settings.section("speculators_config").section("verifier").text("name_or_path")
        yield TARGET.found(
            case.target.field,
            f"{case.target.path}/config.json has speculators_model_type {kind}: it is a head, and vLLM would serve "
            f"{verifier or 'its verifier'} instead; set --model to the target, and set this folder as the draft",
        )


def kind(case: PreflightCase) -> Iterator[Finding]:
    """The engine knows the type of the checkpoint."""
    engine, draft = case.around.engine, case.draft
    name = draft.settings.text("speculators_model_type") if draft else None
    if draft is None or name is None or engine is None or engine > NEWEST:
        return
    known = {each for each, first in table("methods")["speculators"].items() if holds(Version(*engine), first)}
    if name not in known:
        types = ", ".join(each for each in table("methods")["speculators"] if each in known)
        yield TYPE.found(
            draft.field,
            f"{draft.path}/config.json has speculators_model_type {name}: vLLM {engine[0]}.{engine[1]} supports "
            f"{types}; use such a head, or a newer engine",
        )


def verifier(case: PreflightCase) -> Iterator[Finding]:
    """The head was trained for this target, as far as names show it."""
    if case.draft is None:
        return
    trained = case.draft.settings.section("speculators_config").section("verifier").text("name_or_path")
    served = case.target.settings.text("_name_or_path")
    if trained and served and _base(trained) != _base(served):
        yield VERIFIER.found(
            case.draft.field,
            f"{case.draft.path}/config.json names the verifier {trained}, but the name of the target is {served}: a "
            "head drafts well only for the model that it was trained for; check that they are the same",
        )


def _base(name: str) -> str:
    return name.rstrip("/").rpartition("/")[2].lower()


def settings(case: PreflightCase) -> Iterator[Finding]:
    """The flags match what the checkpoint records about itself."""
    if case.draft is None or case.draft.settings.text("speculators_model_type") is None:
        return
    trained = _tokens(case.draft.settings.section("speculators_config").document)
    if trained is not None and case.tokens is not None and trained != case.tokens:
        yield SETTINGS.found(
            "--speculative-config num_speculative_tokens",
            f"num_speculative_tokens is {case.tokens}, but {case.draft.path}/config.json has {trained}: vLLM uses the "
            f"flag, and the head was trained for {trained}; set {trained}, or check by measurement that {case.tokens} "
            "is better",
        )
    if case.draft.settings.text("speculators_model_type") == "peagle" and not case.option("parallel_drafting"):
        yield SETTINGS.found(
            "--speculative-config parallel_drafting",
            f"parallel_drafting is not set, but {case.draft.path} is a peagle head: it drafts all tokens in one "
            'pass; set "method": "eagle3" and "parallel_drafting": true',
        )


def _tokens(speculators: Mapping[str, object]) -> int | None:
    match speculators.get("proposal_methods"):
        case [{"speculative_tokens": tokens}, *_]:
            return whole(tokens)
    return None
