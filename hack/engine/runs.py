"""Has the runtime image do the runs: writes what is asked into the models' folder, and reads what came of it."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from hack.cluster.errors import ClusterError
from hack.engine import cases, judged, wanted, wanted_faults
from hack.images import box
from hack.models import store, zoo

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hack.engine.faults import Fault

CLIENTS: Final = (1, 4, 8)
_ROUNDS: Final = 3
_SIDE_BY_SIDE: Final = 3
_EXACT: Final = "--dtype=float32"
"""Where answers are compared. In bfloat16 the two best tokens of a tiny model often have the same logit, and which of
them is taken hangs on how many positions a step has: a matter of rounding, not of the method."""


def methods(names: Sequence[str] = ()) -> dict[str, Any]:
    """Run the methods, or the named ones, and the plain engines that they are held against."""
    models = zoo.ensure()
    runs = [
        each for method in cases.METHODS if not names or method.name in names for each in _with_base(method, models)
    ]
    elsewhere = [
        {"name": each.name, "flags": wanted.raw(each, models), "preflight": False}
        for each in cases.ELSEWHERE
        if not names or each.name in names
    ]
    exact = [each | {"flags": [*each["flags"], _EXACT]} for each in runs]
    work = {"models": str(models), "runs": _once([*exact, *elsewhere])}
    found: dict[str, Any] = _ask("hack.engine.lossless", models, work)
    return found


def bench() -> list[list[dict[str, Any]]]:
    """Time the methods that draft, each in its plainest form, three at once beside the plain engine."""
    models = zoo.ensure()
    timed = [each for each in cases.METHODS if each.drafts and each.name == each.speculation["method"]]
    groups = [timed[at : at + _SIDE_BY_SIDE] for at in range(0, len(timed), _SIDE_BY_SIDE)]
    runs = [_once([each for method in group for each in _with_base(method, models)]) for group in groups]
    work = {"models": str(models), "groups": runs, "rounds": _ROUNDS, "clients": list(CLIENTS)}
    found: list[list[dict[str, Any]]] = _ask("hack.engine.bench", models, work)
    return found


def faults(asked: Iterable[Fault]) -> dict[str, Any]:
    """Run each fault; what nothing stopped is judged by the guard."""
    models, by_name = zoo.ensure(), {each.what: each for each in asked}
    with tempfile.TemporaryDirectory(dir=models, prefix="faults-") as folder:
        scratch = Path(folder)
        scratch.chmod(0o755)
        runs = wanted_faults.prepare(by_name.values(), models, scratch)
        found = _ask("hack.engine.faulty", models, {"prompts": str(models / "prompts.json"), "runs": runs})
        return {name: _told(by_name[name], result, scratch) for name, result in found.items()}


def _told(fault: Fault, result: dict[str, Any], scratch: Path) -> dict[str, Any]:
    """Have the guard judge what was recorded, and take the folders of this machine out of the words."""
    scrapes = result.pop("scrapes", None)
    if scrapes:
        result |= judged.decided(scrapes, str(fault.asked().speculation["method"]), scratch)
    message = re.sub(re.escape(str(scratch)) + r"/fault-\d+/", "", str(result.get("message") or ""))
    return result | {"message": message}


def base(method: cases.Method) -> str:
    """Return the name of the plain engine that serves the same target."""
    return cases.PLAIN.name if method.target == cases.PLAIN.target else f"{cases.PLAIN.name} {method.target}"


def _with_base(method: cases.Method, models: Path) -> list[dict[str, Any]]:
    plain = cases.Method(name=base(method), target=method.target, drafts=False)
    return [
        {"name": plain.name, "flags": wanted.flags(plain, models)},
        {"name": method.name, "base": plain.name, "flags": wanted.flags(method, models)},
    ]


def _once(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({each["name"]: each for each in runs}.values())


def _ask(module: str, models: Path, work: dict[str, Any]) -> Any:
    with tempfile.TemporaryDirectory(dir=models, prefix=".work-") as folder:
        asked, out = Path(folder) / "work.json", Path(folder) / "out.json"
        asked.write_text(json.dumps(work, indent=1), encoding="utf-8")
        code = box.run((module, str(asked), str(out)), models, store.image())
        if code != 0 or not out.exists():
            raise ClusterError(f"{module} ended with code {code} in the runtime image; its words are above")
        return json.loads(out.read_text(encoding="utf-8"))
