"""The patch of argocd-cm, made of the Lua files as Argo CD's own repository would keep them."""

import pathlib
from typing import Final

import yaml

from specdec_operator.names import GROUP, KIND

_ARGO: Final = pathlib.Path(__file__).parents[2] / "manifests" / "gitops" / "argocd"
FOLDER: Final = _ARGO / "resource_customizations" / GROUP / KIND
PATCH: Final = _ARGO / "argocd-cm.yaml"
HEALTH_KEY: Final = f"resource.customizations.health.{GROUP}_{KIND}"
ACTIONS_KEY: Final = f"resource.customizations.actions.{GROUP}_{KIND}"
ACTIONS: Final = ("retry", "rollback", "hold", "release")
_HEAD: Final = """\
# Lets Argo CD show the health of a SpeculativeInferenceService and offer its actions. Generated from
# resource_customizations/ by `python -m hack.gitops`.
#   kubectl patch configmap argocd-cm -n argocd --type merge --patch-file argocd-cm.yaml
"""


def health() -> str:
    """The script that returns the health of a service."""
    return (FOLDER / "health.lua").read_text()


def actions() -> str:
    """All actions in the YAML that argocd-cm wants in one value."""
    folder = FOLDER / "actions"
    made = {
        "discovery.lua": (folder / "discovery.lua").read_text(),
        "definitions": [{"name": each, "action.lua": (folder / each / "action.lua").read_text()} for each in ACTIONS],
    }
    return _dumped(made)


def patch() -> str:
    """The file of the patch."""
    return _HEAD + _dumped({"data": {HEALTH_KEY: health(), ACTIONS_KEY: actions()}})


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def _dumped(body: object) -> str:
    return yaml.dump(body, Dumper=_Dumper, sort_keys=False, width=1000)
