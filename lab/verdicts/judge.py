"""Judges one line of recorded configurations: the engine's expected verdict, and ours."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from specdec_engine import command_line
from specdec_engine.case import Case, Json, ModelFolderFacts
from specdec_engine.check import check
from specdec_engine.rule import Finding, Severity, deployable
from specdec_engine.tables import table
from specdec_engine.version import Build, Flavor, Version

TARGET_PATH: Final = "/mnt/target/model"
DRAFT_PATH: Final = "/mnt/draft/model"

_FILES: Final = frozenset(("config.json",))
"""All that lies in a model's folder there."""
_HOPPER: Final = ("NVIDIA H100 80GB HBM3", 80 << 30)
"""The device that recordings with `platform` cuda pretended."""


def judge(line: Mapping[str, Any], kinds: Json) -> dict[str, Any]:
    """`{"id", "ok", "engine_ok", "rules", "message"}` of a line; `kinds` holds the models' configs by name.

    Never raises: a line that is not such a recording is not ok, and its message has the reason.
    """
    try:
        case, said = case_of(line, kinds)
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        return {"id": _id(line), "ok": False, "engine_ok": False, "rules": [], "message": f"not such a line: {error}"}
    findings = (*said, *check(case))
    here = line.get("platform_specific") or case.build.flavor is not Flavor.VLLM_CPU
    ours = findings if here else _anywhere(case, findings)
    return {
        "id": _id(line),
        "ok": deployable(ours),
        "engine_ok": not any(map(_by_engine, findings)),
        "rules": list(dict.fromkeys(each.rule.id for each in ours if each.rule.severity is not Severity.NOTED)),
        "message": _message(ours),
    }


def case_of(line: Mapping[str, Any], kinds: Json) -> tuple[Case, tuple[Finding, ...]]:
    """The case that a line describes, and what its command line breaks.

    Raises ValueError, TypeError, AttributeError or KeyError for lines of another shape.
    """
    build = _build(line)
    asked, extra = line.get("speculative_config"), [str(each) for each in line.get("cli_extra") or ()]
    words = [] if asked is None else ["--speculative-config", asked if line.get("raw") else json.dumps(asked)]
    spoken = command_line.read([*words, *extra], build)
    args = {**dict(line.get("engine_args") or {}), **spoken.args}
    if not all(isinstance(name, str) for name in args):
        raise TypeError("a flag's name is a text")
    target = _model(TARGET_PATH, line.get("target"), kinds)
    case = Case(
        build=build,
        target=target,
        draft=_draft((spoken.speculation or {}).get("model"), line, kinds, target),
        speculation=spoken.speculation,
        args=args,
        env=dict(line.get("env") or {}),
        packages=frozenset({"arctic_inference"} if line.get("arctic_stub") else ()),
        device_bytes=_HOPPER[1] if build.flavor is Flavor.VLLM else None,
        device_name=_HOPPER[0] if build.flavor is Flavor.VLLM else "",
    )
    return case, spoken.findings


def _build(line: Mapping[str, Any]) -> Build:
    """The engine that was asked, from its recorded name and device. Without a device it was a CPU."""
    version = Version.parse(line["version"])
    if line.get("engine") == Flavor.VLLM_ASCEND:
        return Build(Flavor.VLLM_ASCEND, version, version)
    return Build(Flavor.VLLM if line.get("platform") == "cuda" else Flavor.VLLM_CPU, version)


def _draft(
    path: object, line: Mapping[str, Any], kinds: Json, target: ModelFolderFacts | None
) -> ModelFolderFacts | None:
    """The model at the draft's path. On the machine of the recordings nothing else is there, and no network."""
    if not isinstance(path, str):
        return None
    if line.get("draft") is not None and path == (line.get("draft_path") or DRAFT_PATH):
        return _model(path, line["draft"], kinds)
    if target is not None and path == TARGET_PATH:
        return target
    return ModelFolderFacts(path=path, problem="there is no such folder, and no network")


def _model(path: str, kind: str | None, kinds: Json) -> ModelFolderFacts | None:
    """A model by its kind; None where the kind is not among those that are known."""
    config = kinds.get(kind) if kind is not None else None
    if isinstance(config, str):
        return ModelFolderFacts(path=path, problem=config.strip("()"))
    return ModelFolderFacts(path=path, config=config, files=_FILES) if isinstance(config, Mapping) else None


def _id(line: object) -> Any:
    return line.get("id") if isinstance(line, Mapping) else None


def _anywhere(case: Case, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The engine's own refusals, and ours as on a GPU: the cases were recorded on a CPU, not meant for one."""
    plain = replace(case, build=replace(case.build, flavor=Flavor.VLLM))
    return (*filter(_by_engine, findings), *(each for each in check(plain) if not _by_engine(each)), *_ours(findings))


def _by_engine(finding: Finding) -> bool:
    return finding.rule.severity is Severity.REFUSED and not finding.rule.stricter


def _ours(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """What the command line alone broke: it is the same everywhere."""
    return tuple(
        each for each in findings if each.rule.id in table("rules")["rules"]["command_line"] and not _by_engine(each)
    )


def _message(findings: tuple[Finding, ...]) -> str:
    """The first refusal, or else the first warning."""
    order = (Severity.REFUSED, Severity.WARNED)
    return next((each.message for wanted in order for each in findings if each.rule.severity is wanted), "")
