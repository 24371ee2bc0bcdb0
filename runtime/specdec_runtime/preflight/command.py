"""The command `preflight`: prints every finding on a target and, where given, a draft."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from specdec_engine.exit_codes import REFUSED
from specdec_engine.rule import deployable
from specdec_runtime.flags import Flags
from specdec_runtime.preflight.finding import WORDS
from specdec_runtime.preflight.look import inspect

if TYPE_CHECKING:
    from collections.abc import Sequence


def command(arguments: Sequence[str]) -> int:
    """Look at two folders; the exit code is that of a refused start, or 0."""
    given = _parser().parse_args(arguments)
    findings = inspect(flags_of(given.target, given.draft, given.method, given.tokens, given.max_model_len))
    for finding in findings:
        print(f"{WORDS[finding.rule.severity]}: {finding.rule.id}: {finding.field}: {finding.message}")
    refused = not deployable(findings)
    print("preflight: refused" if refused else "preflight: no problem found")
    return REFUSED if refused else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="specdec_runtime preflight")
    parser.add_argument("target", type=Path, help="folder of the target model")
    parser.add_argument("draft", type=Path, nargs="?", help="folder of the draft model or head")
    parser.add_argument("--method", help="speculative method (default: draft_model with a draft)")
    parser.add_argument("--tokens", type=int, help="K: tokens drafted per step")
    parser.add_argument("--max-model-len", type=int, help="maximum context length of the server")
    return parser


def flags_of(target: Path, draft: Path | None, method: str | None, tokens: int | None, length: int | None) -> Flags:
    """Return the flags of a server with these models, as the operator would render them."""
    speculation: dict[str, object] | None = None
    if draft is not None or method is not None:
        speculation = {"method": method or "draft_model"}
        speculation |= {"model": str(draft.absolute())} if draft is not None else {}
        speculation |= {"num_speculative_tokens": tokens} if tokens is not None else {}
    return Flags(args={"model": str(target.absolute()), "max_model_len": length}, speculation=speculation)
