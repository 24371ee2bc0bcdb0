"""The test files of Argo CD's own layout, made of the cases: what its repository would hold beside health.lua."""

from typing import Any, Final

import yaml
from hack.gitops import argocd

from specdec_operator.names import ANNOTATION_PREFIX, HOLD_ANNOTATION
from tests.gitops.lua import run
from tests.gitops.states import CASES, Case

Object = dict[str, Any]

NOW: Final = "0001-01-01T00:00:00Z"
"""Stands for the time at which an action is run."""
FILES: Final = {
    "progressing_new": "new: not reconciled yet",
    "progressing_rolling_out": "first pods start",
    "progressing_rolling_back": "rolls back",
    "progressing_generation": "changed, not reconciled yet",
    "progressing_deleted": "being deleted",
    "healthy_watching": "watched, windows pass",
    "healthy_held": "held, it would roll back",
    "healthy_rolled_back": "rolled back, to the baseline",
    "healthy_rolled_back_by_user": "rolled back, by the user",
    "degraded_rolled_back": "rolled back, `health: Degraded`",
    "degraded_stalled": "stalled: crashes",
    "degraded_refused": "spec refused, nothing serves",
}
_DISCOVERED: Final = ("healthy_watching", "healthy_held", "healthy_rolled_back", "healthy_rolled_back_by_user")
_RUN: Final = {
    "retry": "healthy_rolled_back",
    "rollback": "healthy_watching",
    "hold": "healthy_watching",
    "release": "healthy_held",
}
_BY_WORDS: Final = {case.words: case for case in CASES}


def files() -> dict[str, str]:
    """Every file below the folder of the kind, by its path."""
    made = {f"testdata/{name}.yaml": _dumped(_case(name).body) for name in FILES}
    made["health_test.yaml"] = _dumped({"tests": [_health(name) for name in FILES]})
    made["actions/action_test.yaml"] = _dumped(
        {
            "discoveryTests": [_discovery(name) for name in _DISCOVERED],
            "actionTests": [_action(action, name) for action, name in _RUN.items()],
        }
    )
    for action, name in _RUN.items():
        made[f"actions/testdata/{action}.yaml"] = _dumped(_after(action, _case(name).body))
    return made


def _case(name: str) -> Case:
    return _BY_WORDS[FILES[name]]


def _health(name: str) -> Object:
    case = _case(name)
    message = run(argocd.health(), case.body)["message"]
    return {"healthStatus": {"status": case.argo, "message": message}, "inputPath": f"testdata/{name}.yaml"}


def _discovery(name: str) -> Object:
    offered = run((argocd.FOLDER / "actions" / "discovery.lua").read_text(), _case(name).body)
    acts = _case(name).acts
    result = [
        {"name": action, "displayName": offered[action]["displayName"], "disabled": action not in acts}
        for action in argocd.ACTIONS
    ]
    return {"inputPath": f"../testdata/{name}.yaml", "result": result}


def _action(action: str, name: str) -> Object:
    expected = f"testdata/{action}.yaml"
    return {"action": action, "inputPath": f"../testdata/{name}.yaml", "expectedOutputPath": expected}


def _after(action: str, body: Object) -> Object:
    """The sis as the action is to leave it."""
    meta = body["metadata"]
    annotations = {key: value for key, value in meta.get("annotations", {}).items() if key != HOLD_ANNOTATION}
    if action != "release":
        annotations[f"{ANNOTATION_PREFIX}{action}"] = f"{NOW} by Argo CD"
    return body | {"metadata": meta | {"annotations": annotations}}


def _dumped(body: Object) -> str:
    return yaml.safe_dump(body, sort_keys=False, width=110)
