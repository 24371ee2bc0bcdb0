"""Reads the server's command line as the server does: long and short flags, dotted keys, three ways to speculate."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from specdec_operator.engine.case import Json
from specdec_operator.engine.flagged import Flag, gather
from specdec_operator.engine.rule import Finding, Rule
from specdec_operator.engine.rules.making import RECORDED, refused, stricter
from specdec_operator.engine.version import Build

_ARGS: Final = "engine/arg_utils.py"
_PARSER: Final = "utils/argparse_utils.py"

SYNTAX: Final = refused("JSON-SYNTAX", "--speculative-config is JSON.", _ARGS)
OBJECT: Final = refused("JSON-OBJECT", "--speculative-config is a JSON object.", _ARGS)
OFF: Final = stricter("JSON-OFF", "An empty or null --speculative-config serves plainly without a word.", RECORDED)
TWICE: Final = stricter("JSON-TWICE", "A key that is written twice: the last one wins without a word.", RECORDED)
BOTH: Final = refused(
    "SPEC-FLAGS-BOTH",
    "--spec-method, --spec-model and --spec-tokens exclude the same key in --speculative-config.",
    f"{_ARGS} create_speculative_config",
    since="0.22",
)
SINCE: Final = refused(
    "SPEC-FLAGS-SINCE", "--spec-method, --spec-model and --spec-tokens are there since 0.22.", _ARGS, until="0.21"
)
VALUE: Final = refused("ARG-VALUE", "A flag's value is written as the server can read it.", _PARSER)
SHORT: Final = refused("ARG-SHORT", "The version must have the short name of the flag.", _PARSER)

RULES: Final[tuple[Rule, ...]] = (SYNTAX, OBJECT, OFF, TWICE, BOTH, SINCE, VALUE, SHORT)

_FIELD: Final = "args.speculative_config"
_SPEC_FLAGS: Final = {"spec_method": "method", "spec_model": "model", "spec_tokens": "num_speculative_tokens"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A command line, read.

    args: the flags by their Python names, without those about speculation.
    speculation: the object that the engine is given; None where it serves plainly, or the object cannot be read.
    findings: what is wrong with the line itself; the rest is `check`'s.
    """

    args: Json
    speculation: Json | None
    findings: tuple[Finding, ...]


def read(words: Sequence[str], build: Build) -> Line:
    """Reads the words behind `vllm serve`, or the whole line. Never raises."""
    found: list[Finding] = []
    args: dict[str, Any] = {}
    for flag in gather(_behind_serve(words), build.vllm):
        if not flag.short_known:
            found.append(SHORT.broken(f"args.{flag.name}", flag.written, f"{build} has no {flag.written}"))
        if flag.name == "speculative_config":
            continue
        if flag.fault:
            found.append(VALUE.broken(f"args.{flag.name}", flag.value, f"{flag.written} wants {flag.fault}"))
        else:
            args[flag.name] = flag.value
    spoken = [flag for flag in gather(_behind_serve(words), build.vllm) if flag.name == "speculative_config"]
    speculation = _speculation(spoken[-1], found) if spoken else None
    speculation = _with_spec_flags(speculation, args, found)
    return Line(args=args, speculation=speculation, findings=tuple(each for each in found if each.rule.holds(build)))


def _behind_serve(words: Sequence[str]) -> Sequence[str]:
    return words[list(words).index("serve") + 1 :] if "serve" in words[:3] else words


def _speculation(flag: Flag, found: list[Finding]) -> Json | None:
    """The value of --speculative-config."""
    text = flag.value
    if isinstance(text, dict):
        return text
    if not isinstance(text, str) or text in ("", "None"):
        found.append(OFF.broken(_FIELD, text, "write a JSON object, or remove the flag"))
        return None
    twice: list[str] = []
    try:
        value = json.loads(text, object_pairs_hook=lambda pairs: _object(pairs, twice))
    except (ValueError, RecursionError) as error:
        found.append(SYNTAX.broken(_FIELD, text, f"--speculative-config is no JSON: {error}"))
        return None
    found += (TWICE.broken(f"speculative_config.{key}", None, f"{key} is written twice") for key in twice)
    if value is None:
        found.append(OFF.broken(_FIELD, text, "write a JSON object, or remove the flag"))
    elif not isinstance(value, dict):
        found.append(OBJECT.broken(_FIELD, value, "write a JSON object: {...}"))
    return value if isinstance(value, dict) else None


def _object(pairs: list[tuple[str, Any]], twice: list[str]) -> dict[str, Any]:
    made = dict(pairs)
    names = [key for key, _ in pairs]
    twice += (key for key in made if names.count(key) > 1)
    return made


def _with_spec_flags(speculation: Json | None, args: dict[str, Any], found: list[Finding]) -> Json | None:
    """Adds the three flags to the object, and takes them out of the plain flags."""
    merged = dict(speculation or {})
    spoken = [(name, key) for name, key in _SPEC_FLAGS.items() if name in args]
    for name, key in spoken:
        flag, value = f"--{name.replace('_', '-')}", args.pop(name)
        found.append(SINCE.broken(f"args.{name}", value, f"write {key} in --speculative-config instead of {flag}"))
        if key in merged:
            found.append(BOTH.broken(f"args.{name}", value, f"{flag} and {key} in --speculative-config: keep one"))
        merged[key] = value
    return merged if spoken or speculation is not None else None
