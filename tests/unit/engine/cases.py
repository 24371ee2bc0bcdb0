"""Cases for the engine's rules, in a few words: models by the names of the recordings."""

import json
import pathlib
from collections.abc import Mapping
from typing import Any

from specdec_engine.case import Case, Json, ModelFolderFacts
from specdec_engine.check import check
from specdec_engine.version import Build, Flavor, Version

VERDICTS = pathlib.Path(__file__).parents[2] / "data" / "verdicts"
KINDS: dict[str, Any] = json.loads((VERDICTS / "kinds.json").read_text())
TARGET, DRAFT = "/models/target", "/models/draft"
CPU = Flavor.VLLM_CPU
NPU = Flavor.VLLM_ASCEND


def model(path: str, kind: str | Mapping[str, Any] | None, tokenizer: str = "") -> ModelFolderFacts | None:
    config = KINDS[kind] if isinstance(kind, str) else kind
    if isinstance(config, str):
        return ModelFolderFacts(path=path, problem=config)
    return ModelFolderFacts(path=path, config=config, tokenizer=tokenizer) if config is not None else None


def spec(method: str | None, k: object = 3, **more: object) -> dict[str, Any]:
    """A speculative configuration; `None` leaves a key out."""
    return {
        key: value
        for key, value in {"method": method, "num_speculative_tokens": k, **more}.items()
        if value is not None
    }


def case(
    speculation: Json | None = None,
    *,
    version: str = "0.32.0",
    flavor: Flavor = Flavor.VLLM,
    ascend: str = "",
    target: str | Mapping[str, Any] | None = "llama",
    draft: str | Mapping[str, Any] | None = None,
    path: str = DRAFT,
    tokenizers: tuple[str, str] = ("", ""),
    packages: tuple[str, ...] = ("arctic_inference",),
    env: Mapping[str, str] | None = None,
    **args: Any,
) -> Case:
    """A case; with a draft, its path is the speculative configuration's model."""
    asked = dict(speculation) if speculation is not None else None
    if draft is not None and asked is not None:
        asked.setdefault("model", path)
    return Case(
        build=Build(flavor, Version.parse(version), Version.parse(ascend) if ascend else None),
        target=model(TARGET, target, tokenizers[0]),
        draft=model(path, draft, tokenizers[1]),
        speculation=asked,
        args=args,
        env=dict(env or {}),
        packages=frozenset(packages),
    )


def broken(case: Case) -> set[str]:
    return {each.rule.id for each in check(case)}
