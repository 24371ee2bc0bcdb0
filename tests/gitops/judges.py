"""How Flux's and Argo CD's own code judges objects."""

import json
import os
import pathlib
import subprocess
from collections.abc import Iterable, Mapping
from typing import Any

from hack.gitops import argocd, programs

from specdec_operator.names import GROUP, KIND
from tests.gitops.built import needed

Object = dict[str, Any]


def flux(objects: Iterable[Object], expressions: Object | None = None) -> list[Object]:
    """kstatus' status and message of each object and, with healthCheckExprs, theirs."""
    words = {"EXPRESSIONS": json.dumps(expressions)} if expressions else {}
    return _asked(programs.ensure(programs.FLUX, "flux-judge"), objects, words)


def argo(questions: Iterable[Object]) -> list[Object]:
    """Health and actions of each `object`, or what an `action` makes of it, by the patch of argocd-cm."""
    words = {"KIND": f"{GROUP}/{KIND}", "HEALTH": argocd.health(), "ACTIONS": argocd.actions()}
    return _asked(needed(programs.ARGO, "argo-judge"), questions, words)


def _asked(program: pathlib.Path, lines: Iterable[Object], words: Mapping[str, str]) -> list[Object]:
    text = "".join(json.dumps(each) + "\n" for each in lines)
    done = subprocess.run(
        [str(program)], input=text, env=os.environ | words, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]
