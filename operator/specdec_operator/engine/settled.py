"""What the engine makes of a case before it looks for mistakes: the method it settles on, the draft, the tokens.

It follows SpeculativeConfig.__post_init__: a method that was given may be replaced by what the draft's path or model
type says.
"""

from dataclasses import dataclass, replace
from typing import Any, Final

from specdec_operator.engine.case import Case, Model
from specdec_operator.engine.facts import Facts, facts
from specdec_operator.engine.families import as_drafter, drafts_itself, is_drafter
from specdec_operator.engine.reading import Reading, read
from specdec_operator.engine.tables import table
from specdec_operator.engine.version import Version, holds

WITHOUT_DRAFT: Final = frozenset(("ngram", "ngram_gpu", "suffix", "custom_class", "extract_hidden_states"))
"""Methods for which the engine opens no second model."""
_URLS: Final = ("http://", "https://", "file://")
_HEADS: Final = ("eagle", "eagle3", "dflash")
_DSPARK: Final = frozenset(("Qwen3DSparkModel", "Qwen3OmniDSparkModel", "Gemma4DSparkModel"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A case as the engine settles it.

    reading: the speculative configuration's keys and values; empty where the case serves plainly.
    word: the method as it was asked for, aliases replaced; empty: none was named.
    method: the method that runs; empty where the engine finds none. None where that depends on an unknown draft.
    opens: the folder that the engine opens as a draft; None where it opens none. `own`: it is the target itself.
    opened: its facts as it is opened; draft: the same under the name that the method gives it. None where it is not
        known, or none is opened.
    k: tokens to draft; None where neither the user nor the models say.
    """

    case: Case
    reading: Reading
    speculates: bool
    word: str
    method: str | None
    opens: Model | None
    own: bool
    opened: Facts | None
    draft: Facts | None
    target: Facts | None
    k: int | None

    @property
    def version(self) -> Version:
        """The vLLM inside."""
        return self.case.build.vllm

    def value(self, key: str, default: Any = None) -> Any:
        """A value of the speculative configuration, converted; the default where it is absent or was not taken."""
        return self.reading.values.get(key, default)

    def at_least(self, since: str) -> bool:
        """Whether the engine is this version or a later one."""
        return holds(self.version, since)


def settle(case: Case) -> Settled:
    """Follows the engine as far as the facts reach. Never raises."""
    reading = read(case.speculation or {}, case.build.vllm)
    word = _word(reading, case.build.vllm)
    asked = Settled(
        case=case,
        reading=reading,
        speculates=case.speculation is not None,
        word=word,
        method=word,
        opens=None,
        own=False,
        opened=None,
        draft=None,
        target=facts(case.target),
        k=reading.values.get("num_speculative_tokens"),
    )
    if not asked.speculates or any(each.key in ("method", "model") for each in reading.misread):
        return replace(asked, method=None) if asked.speculates else asked
    if word in WITHOUT_DRAFT:
        return replace(asked, k=_depth(asked))
    return _with_draft(asked)


def _word(reading: Reading, version: Version) -> str:
    """The method that is asked for, or inferred from `model` alone."""
    word, model = reading.values.get("method", ""), reading.values.get("model")
    if isinstance(model, str) and _is_class(model, version, named=bool(word)):
        return "custom_class"
    if not word and model in ("ngram", "[ngram]"):
        return "ngram"
    if not word:
        return "draft_model" if holds(version, "0.17") else ""
    alias = table("methods")["methods"][word].get("alias_of")
    return str(alias or word)


def _is_class(model: str, version: Version, *, named: bool) -> bool:
    """Whether the engine takes the draft's name for a Python class."""
    if "/" in model or model.startswith(_URLS) or not holds(version, "0.22"):
        return False
    if holds(version, "", "0.25"):
        return "." in model
    parts = model.split(".")
    return not named and len(parts) >= 2 and all(part.isidentifier() for part in parts)


def _depth(asked: Settled) -> int | None:
    """Suffix decoding drafts as deep as its tree where no number is given."""
    if asked.k is None and asked.word == "suffix":
        return int(asked.value("suffix_decoding_max_tree_depth", 24))
    return asked.k


def _with_draft(asked: Settled) -> Settled:
    """The same with the draft that is opened, if any."""
    given = asked.value("model")
    own = given is None and asked.k is not None and asked.word in ("mtp", "dspark")
    if given is None and not own:
        return asked
    opens = asked.case.target if own else asked.case.draft
    if opens is None and not own:
        opens = Model(path=given)
    draft = _opened(opens, asked)
    settled = replace(asked, opens=opens, own=own, opened=draft, draft=draft)
    settled = replace(settled, method=_method(settled, opens.path if opens else ""))
    settled = replace(settled, draft=_headed(settled))
    return replace(settled, k=_tokens(settled))


def _opened(model: Model | None, asked: Settled) -> Facts | None:
    found = facts(model)
    if found is None:
        return None
    if asked.word == "medusa" and asked.at_least("0.25"):
        return found.rewritten("medusa", *(found.architectures or ("MedusaModel",)))
    if found.model_type == "medusa" and not found.architectures:
        return found.rewritten("medusa", "MedusaModel")
    base = table("model_types")["base"].get(found.model_type)
    if not found.architectures and base:
        found = found.rewritten(found.model_type, base)
    return as_drafter(found, asked.version)


def _method(settled: Settled, path: str) -> str | None:
    """The method after the engine has looked at the draft's path and model type."""
    word, draft, lower = settled.word, settled.draft, path.lower()
    fixed = {"eagle", "eagle3", "dflash", "dspark"}
    if word in fixed:
        return word
    if by_path := _by_path(lower, settled):
        return by_path
    if draft is None:  # of a draft that nobody has seen, the user's word is believed
        seen = settled.opens is not None and bool(settled.opens.problem)
        return word if word == "draft_model" or (word and not seen) else None
    return _by_type(draft, settled)


def _by_type(draft: Facts, settled: Settled) -> str | None:
    if draft.model_type in ("medusa", "mlp_speculator"):
        return draft.model_type
    if is_drafter(draft.model_type, settled.version):
        return "mtp"
    if drafts_itself(draft, settled.version) is None:
        return None
    return "draft_model" if settled.word == "draft_model" and settled.at_least("0.15") else ""


def _by_path(lower: str, settled: Settled) -> str:
    named = set(settled.draft.architectures) if settled.draft else set()
    if "eagle-" in lower:
        return "eagle"
    if "eagle3" in lower:
        return "eagle3"
    if settled.at_least("0.20") and ("dflash" in lower or "MuseGlimmerAssistantModel" in named):
        return "dflash"
    spark = named & (_DSPARK if settled.at_least("0.28") else {"Qwen3DSparkModel"})
    spark |= named & {"DSparkDraftModel"} if _is_qwen_spark(settled) else set()
    return "dspark" if settled.at_least("0.25") and ("dspark" in lower or spark) else ""


def _is_qwen_spark(settled: Settled) -> bool:
    return settled.at_least("0.28") and settled.draft is not None and settled.draft.model_type == "qwen3"


def _headed(settled: Settled) -> Facts | None:
    """The draft under the architecture's name that the method gives it."""
    draft, method = settled.draft, settled.method
    if draft is None or draft.head or method not in _HEADS:
        return draft
    return draft.rewritten("eagle", *(head_name(method, each) for each in draft.architectures))


def head_name(method: str, architecture: str) -> str:
    """The registered name that an EAGLE-like draft must have."""
    match method:
        case "eagle":
            return architecture if architecture.startswith("Eagle") else f"Eagle{architecture}"
        case "eagle3":
            named = architecture.startswith("Eagle3") or architecture.endswith("Eagle3")
            return architecture if named else f"Eagle3{architecture}"
        case _:
            named = architecture.startswith("DFlash") or architecture.endswith("DFlash")
            return architecture if named or architecture == "LiLiCorrDraftModel" else f"DFlash{architecture}"


def _tokens(settled: Settled) -> int | None:
    """K, from the draft's config where the user gives none."""
    if settled.k is not None or settled.draft is None:
        return settled.k
    if settled.method == "dspark":
        return _block(settled.draft) if settled.at_least("0.31") else None
    return settled.draft.n_predict


def _block(draft: Facts) -> int | None:
    sizes = (draft.config.get("block_size"), draft.config.get("dspark_block_size"))
    return next((size for size in sizes if isinstance(size, int)), None)
