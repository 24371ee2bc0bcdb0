"""Has the runtime image do the runs: writes what is asked into the models' folder, and reads what came of it."""

import json
import re
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import yaml
from hack.models.store import open_to_pods

from lab.engine import cases, place
from lab.engine.faults import Fault
from lab.heads import store as heads
from specdec_command.replay.play import play, read_recording
from specdec_operator.api.guard import Guard
from specdec_operator.api.speculation import Method
from specdec_operator.guard.policy import METHODS

GUARD: Final = {"interval": "1s", "window": "6s", "warmup": "1s", "failureLimit": 2, "minDraftTokens": 200}
"""The thresholds of the demo."""
CLIENTS: Final = (1, 4, 8)
_ROUNDS: Final = 3
_SIDE_BY_SIDE: Final = 3
_EXACT: Final = "--dtype=float32"
"""Where answers are compared. In bfloat16 the two best tokens of a tiny model often have the same logit, and which of
them is taken hangs on how many positions a step has: a matter of rounding, not of the method."""


def methods(names: Sequence[str] = ()) -> dict[str, Any]:
    """Run the methods, or the named ones, and the plain engines that they are held against."""
    models = heads.ensure()
    started, refused = cases.split()
    runs = [each for method in started if not names or method.name in names for each in _with_base(method, models)]
    elsewhere = [
        {"name": each.name, "flags": each.raw(models), "preflight": False}
        for each in refused
        if not names or each.name in names
    ]
    exact = [each | {"flags": [*each["flags"], _EXACT]} for each in runs]
    work = {"models": str(models), "runs": _once([*exact, *elsewhere])}
    found: dict[str, Any] = _ask("lab.engine.lossless", models, work)
    return found


def bench() -> list[list[dict[str, Any]]]:
    """Time the methods that draft, each in its plainest form, three at once next to the baseline engine."""
    models = heads.ensure()
    timed = [each for each in cases.split()[0] if each.drafts and each.name == each.speculation["method"]]
    groups = [timed[at : at + _SIDE_BY_SIDE] for at in range(0, len(timed), _SIDE_BY_SIDE)]
    runs = [_once([each for method in group for each in _with_base(method, models)]) for group in groups]
    work = {"models": str(models), "groups": runs, "rounds": _ROUNDS, "clients": list(CLIENTS)}
    found: list[list[dict[str, Any]]] = _ask("lab.engine.bench", models, work)
    return found


def dialled(methods: Sequence[cases.MethodCase], other: str) -> dict[str, Any]:
    """Turn the dial of some methods, and have the first one start as an engine of a version that has none."""
    models = heads.ensure()
    works = [
        {"name": each.name, "flags": [*each.flags(models), _EXACT], "tokens": each.speculation["tokens"]}
        for each in methods
    ]
    dips = [{**each, "name": f"{each['name']}, dips", "dips": 0.2} for each in works]
    work = {"models": str(models), "runs": [*works, *dips, {**works[0], "name": other, "version": "0.34.0"}]}
    found: dict[str, Any] = _ask("lab.engine.dialled", models, work)
    return found


def dial() -> dict[str, Any]:
    """Hold answers at each value of the dial against each other, and time engines at each end of it."""
    models = heads.ensure()
    plan = yaml.safe_load((Path(__file__).parent / "dial_gpu.yaml").read_text(encoding="utf-8"))
    found: dict[str, Any] = _ask(
        "lab.engine.dial_gpu", models, {"models": str(models), **plan[place.chosen().accelerator]}
    )
    return found


def faults(asked: Iterable[Fault]) -> dict[str, Any]:
    """Run each fault; what nothing stopped is judged by the guard."""
    models, by_name = heads.ensure(), {each.what: each for each in asked if cases.starts(each.asked())}
    with tempfile.TemporaryDirectory(dir=models, prefix="faults-") as folder:
        scratch = Path(folder)
        scratch.chmod(0o755)
        runs = prepare(by_name.values(), models, scratch)
        found = _ask("lab.engine.faulty", models, {"prompts": str(models / "prompts.json"), "runs": runs})
        return {name: _told(by_name[name], result, scratch) for name, result in found.items()}


def prepare(faults: Iterable[Fault], models: Path, scratch: Path) -> list[dict[str, Any]]:
    """Break a copy of the models for each fault; return what to run."""
    return [_prepared(fault, models, scratch / f"fault-{number:02}") for number, fault in enumerate(faults)]


def _prepared(fault: Fault, models: Path, folder: Path) -> dict[str, Any]:
    method = fault.asked()
    shutil.rmtree(folder, ignore_errors=True)
    for name in {method.target, method.draft} - {None}:
        shutil.copytree(models / str(name), folder / str(name))
    fault.spoil(folder)
    open_to_pods(folder)
    return {"name": fault.what, "flags": [*method.flags(folder), *fault.flags], "tokens": fault.tokens}


def _told(fault: Fault, result: dict[str, Any], scratch: Path) -> dict[str, Any]:
    """Have the guard judge what was recorded, and take the folders of this machine out of the words."""
    scrapes = result.pop("scrapes", None)
    if scrapes:
        result |= _decided(scrapes, str(fault.asked().speculation["method"]), scratch)
    message = re.sub(re.escape(str(scratch)) + r"/fault-\d+/", "", str(result.get("message") or ""))
    return result | {"message": message}


def _decided(scrapes: list[dict[str, Any]], method: str, folder: Path) -> dict[str, Any]:
    """What the guard decides on recorded metrics: the last window's verdict, or the rollback's message."""
    trace = folder / "trace.jsonl"
    trace.write_text("".join(json.dumps(each) + "\n" for each in scrapes), encoding="utf-8")
    played = play(read_recording(trace), Guard.model_validate(GUARD), METHODS[Method(method)])
    verdicts, rollback = [each.judged.verdict for each in played.decisions], played.state.rollback
    message = rollback.message if rollback else verdicts[-1].message if verdicts else "no window closed"
    return {"reason": rollback.reason if rollback else None, "message": message, "windows": len(verdicts)}


def base(method: cases.MethodCase) -> str:
    """Return the name of the baseline engine that serves the same target."""
    return cases.BASELINE.name if method.target == cases.BASELINE.target else f"{cases.BASELINE.name} {method.target}"


def _with_base(method: cases.MethodCase, models: Path) -> list[dict[str, Any]]:
    baseline = cases.MethodCase(name=base(method), target=method.target, drafts=False)
    return [
        {"name": baseline.name, "flags": baseline.flags(models)},
        {"name": method.name, "base": baseline.name, "flags": method.flags(models)},
    ]


def _once(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({each["name"]: each for each in runs}.values())


def _ask(module: str, models: Path, work: dict[str, Any]) -> Any:
    with tempfile.TemporaryDirectory(dir=models, prefix=".work-") as folder:
        asked, out = Path(folder) / "work.json", Path(folder) / "out.json"
        asked.write_text(json.dumps(work, indent=1), encoding="utf-8")
        place.run(f"{module} in the runtime image", models, module, str(asked), str(out))
        return json.loads(out.read_text(encoding="utf-8"))
