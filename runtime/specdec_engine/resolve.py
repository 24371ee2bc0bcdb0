"""What the engine makes of a case before it looks for mistakes: the method it settles on, the draft, the tokens.

It follows SpeculativeConfig.__post_init__: the draft's path or model type may replace a given method.
"""

from dataclasses import dataclass, replace
from typing import Any, Final

from specdec_engine.case import Case, ModelFolderFacts
from specdec_engine.config_json import whole
from specdec_engine.methods import PATH_METHODS, SUFFIX_TREE_DEPTH, WITHOUT_DRAFT, head_name
from specdec_engine.model_config import ModelConfig, as_drafter, drafts_itself, is_drafter, model_config
from specdec_engine.speculative_config import CheckedConfig, read
from specdec_engine.tables import in_release, table
from specdec_engine.version import Version, holds

_URLS: Final = ("http://", "https://", "file://")
TRANSFORMERS_HEADS: Final = "TransformersForMTP"
_HEADS: Final = ("eagle", "eagle3", "dflash")
_DSPARK: Final = frozenset(("Qwen3DSparkModel", "Qwen3OmniDSparkModel", "Gemma4DSparkModel"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """A case as the engine settles it.

    reading: the speculative configuration's keys and values; empty without speculation.
    word: the requested method, aliases replaced; empty: none was named.
    method: the method that runs; empty where the engine finds none. None where that depends on an unknown draft.
    opens: the folder that the engine opens as a draft; None where it opens none. `own`: it is the target itself.
    opened: its facts as it is opened; draft: the same under the name that the method gives it. None if it is not
        known, or if none is opened.
    k: tokens to draft; None if it is not set by the user or by the models.
    """

    case: Case
    reading: CheckedConfig
    speculates: bool
    word: str
    method: str | None
    opens: ModelFolderFacts | None
    own: bool
    opened: ModelConfig | None
    draft: ModelConfig | None
    target: ModelConfig | None
    k: int | None

    @property
    def version(self) -> Version:
        """The vLLM inside."""
        return self.case.build.vllm

    @property
    def context(self) -> int | None:
        """The longest sequence of the target in tokens: the requested one, or what its config allows."""
        asked = self.case.size("max_model_len", 0)
        return asked if asked > 0 else self.target.context if self.target is not None else None

    def target_is(self, kind: str) -> bool:
        """Whether any architecture of the target is of a kind in the table of architectures, for certain."""
        named = self.target.architectures if self.target is not None else ()
        return any(in_release("architectures", kind, each, self.version) for each in named)

    def value(self, key: str, default: Any = None) -> Any:
        """A value of the speculative configuration, converted; the default where it is absent or was not taken."""
        return self.reading.values.get(key, default)

    def at_least(self, since: str) -> bool:
        """Whether the engine is this version or a later one."""
        return holds(self.version, since)


def resolve(case: Case) -> Resolved:
    """Follows the engine as far as the facts reach. Never raises."""
    reading = read(case.speculation or {}, case.build.vllm)
    word = _word(reading, case.build.vllm)
    start = Resolved(
        case=case,
        reading=reading,
        speculates=case.speculation is not None,
        word=word,
        method=word,
        opens=None,
        own=False,
        opened=None,
        draft=None,
        target=model_config(case.target),
        k=reading.values.get("num_speculative_tokens"),
    )
    if not start.speculates or reading.misreads("method", "model"):
        return replace(start, method=None) if start.speculates else start
    if word in WITHOUT_DRAFT:
        return replace(start, k=_depth(start))
    return _with_draft(start)


def _word(reading: CheckedConfig, version: Version) -> str:
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
    return not named and is_dotted(model)


def is_dotted(name: str) -> bool:
    """Whether it is a Python name with a dot, as of a class in a module."""
    parts = name.split(".")
    return len(parts) >= 2 and all(part.isidentifier() for part in parts)


def _depth(start: Resolved) -> int | None:
    """Suffix decoding drafts as deep as its tree where no number is given."""
    if start.k is None and start.word == "suffix":
        return int(start.value("suffix_decoding_max_tree_depth", SUFFIX_TREE_DEPTH))
    return start.k


def _with_draft(start: Resolved) -> Resolved:
    """The same with the draft that is opened, if any."""
    given = start.value("model")
    own = given is None and start.k is not None and start.word in ("mtp", "dspark")
    if given is None and not own:
        return start
    opens = start.case.target if own else start.case.draft
    if opens is None and not own:
        opens = ModelFolderFacts(path=given)
    draft = _opened(opens, start)
    if own and draft is not None and start.word == "mtp":
        draft = _by_transformers(draft, start)
    resolved = replace(start, opens=opens, own=own, opened=draft, draft=draft)
    resolved = replace(resolved, method=_method(resolved, opens.path if opens else ""))
    resolved = replace(resolved, draft=_headed(resolved))
    return replace(resolved, k=_tokens(resolved))


def _opened(model: ModelFolderFacts | None, start: Resolved) -> ModelConfig | None:
    config = model_config(model)
    if config is None:
        return None
    if start.word == "medusa" and start.at_least("0.25"):
        return config.rewritten("medusa", *(config.architectures or ("MedusaModel",)))
    if config.model_type == "medusa" and not config.architectures:
        return config.rewritten("medusa", "MedusaModel")
    base = table("model_types")["base"].get(config.model_type)
    if not config.architectures and base:
        config = config.rewritten(config.model_type, base)
    return as_drafter(config, start.version)


def _by_transformers(draft: ModelConfig, start: Resolved) -> ModelConfig:
    """Since 0.33 heads of a model that runs through transformers are run by it, where the config counts them."""
    layers = whole(draft.text, "num_mtp_layers")
    named = (in_release("architectures", "registered", each, start.version) for each in draft.architectures)
    behind = start.case.args.get("model_impl") == "transformers" or not any(each is not False for each in named)
    if not start.at_least("0.33") or layers is None or not behind:
        return draft
    return replace(draft, architectures=(TRANSFORMERS_HEADS,), n_predict=layers)


def _method(resolved: Resolved, path: str) -> str | None:
    """The method after the engine has looked at the draft's path and model type."""
    word, draft, lower = resolved.word, resolved.draft, path.lower()
    fixed = {"eagle", "eagle3", "dflash", "dspark"}
    if word in fixed:
        return word
    if by_path := _by_path(lower, resolved):
        return by_path
    if draft is None:  # the draft is unknown: believe the user's method
        seen = resolved.opens is not None and bool(resolved.opens.problem)
        return word if word == "draft_model" or (word and not seen) else None
    return _by_type(draft, resolved)


def _by_type(draft: ModelConfig, resolved: Resolved) -> str | None:
    if draft.model_type in ("medusa", "mlp_speculator"):
        return draft.model_type
    if is_drafter(draft.model_type, resolved.version) or TRANSFORMERS_HEADS in draft.architectures:
        return "mtp"
    if drafts_itself(draft, resolved.version) is None:
        return None
    return "draft_model" if resolved.word == "draft_model" and resolved.at_least("0.15") else ""


def _by_path(lower: str, resolved: Resolved) -> str:
    """The method that the draft's path, or one of its architectures, decides on; empty where neither does."""
    named = set(resolved.draft.architectures) if resolved.draft else set()
    spark = named & (_DSPARK if resolved.at_least("0.28") else {"Qwen3DSparkModel"})
    spark |= named & {"MuseSparkDSparkModel"} if resolved.at_least("0.33") else set()
    spark |= named & {"DSparkDraftModel"} if _is_qwen_spark(resolved) else set()
    by_name = {"dflash": "MuseGlimmerAssistantModel" in named, "dspark": bool(spark)}
    methods = table("methods")["methods"]
    for mark, method in PATH_METHODS:
        if (mark in lower or by_name.get(method)) and resolved.at_least(methods[method].get("since", "")):
            return method
    return ""


def _is_qwen_spark(resolved: Resolved) -> bool:
    return resolved.at_least("0.28") and resolved.draft is not None and resolved.draft.model_type == "qwen3"


def _headed(resolved: Resolved) -> ModelConfig | None:
    """The draft under the architecture's name that the method gives it."""
    draft, method = resolved.draft, resolved.method
    if draft is None or draft.head or method not in _HEADS:
        return draft
    return draft.rewritten("eagle", *(head_name(method, each) for each in draft.architectures))


def _tokens(resolved: Resolved) -> int | None:
    """K, from the draft's config where the user gives none."""
    if resolved.k is not None or resolved.draft is None:
        return resolved.k
    if resolved.method == "dspark":
        return resolved.draft.block_size if resolved.at_least("0.31") else None
    return resolved.draft.n_predict
