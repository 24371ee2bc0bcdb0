"""Target, draft and LoRA adapters of a command line as artifacts, with names that clients go on asking for."""

import json
import re
from dataclasses import dataclass, field
from typing import Any, Final

from specdec_command.importing import legacy
from specdec_command.importing.inference_service import InferenceServiceParts
from specdec_command.importing.manifest import Lost
from specdec_command.importing.places import DOWNLOADED, FoundArtifact, find, is_inside
from specdec_engine.case import Json
from specdec_engine.flags import option
from specdec_engine.methods import PATH_METHODS, plain_name

_TARGET: Final = "pvc://models/target"
_DRAFT: Final = "pvc://models/draft"
_SPECULATOR: Final = re.compile(r"speculator|eagle|dflash|medusa", re.IGNORECASE)
_HUB: Final = "is downloaded from Hugging Face or the mirror in HF_ENDPOINT"


@dataclass(slots=True, kw_only=True)
class Models:
    """target, draft: as in spec.model and spec.speculation.draft. speculation: without what is in `draft`.

    volumes: names of the pod's volumes that only bring models.
    """

    target: dict[str, Any]
    draft: Json
    speculation: Json | None
    volumes: frozenset[str] = frozenset()
    lost: list[Lost] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    used: list[FoundArtifact] = field(default_factory=list)

    @property
    def uris(self) -> list[str]:
        """The places of all models."""
        every = (self.target, self.draft, *self.target.get("adapters", ()))
        return [str(each["uri"]) for each in every if each.get("uri")]


def models_of(
    args: dict[str, Any],
    speculation: Json | None,
    parts: InferenceServiceParts,
    *,
    model: str | None,
    draft: str | None,
) -> Models:
    """The models of a command line. What has its place in the spec is taken out of `args`."""
    made = Models(target={}, draft={}, speculation=speculation)
    called, of_kserve = legacy.of_kserves_server(args, made.lost)
    written = parts.command.model or args.pop("model", None) or of_kserve
    args.pop("model", None)
    _target(made, args, parts, None if written is None else str(written), model)
    _names(made, args, parts, called, written)
    _draft(made, parts, draft)
    _adapters(made, args, parts)
    _speculators(made)
    _unused(made, args, parts)
    return made


def _target(
    made: Models, args: dict[str, Any], parts: InferenceServiceParts, written: str | None, given: str | None
) -> None:
    revision = args.pop("revision", None)
    if given:
        made.target = {"uri": given}
        return
    found = find(written or DOWNLOADED, parts.folders, None if revision is None else str(revision))
    if found is None:
        why = f"{written} is not inside an artifact of the InferenceService" if written else "the input names no model"
        why += f"; {_TARGET} is a placeholder"
        made.lost.append(Lost(field="--model", why=why, way_out="set spec.model.uri to the location of the model"))
        made.target = {"uri": _TARGET}
        return
    _use(made, found, "model")
    made.target = found.said
    if found.hub:
        made.lost += [
            Lost(field="storageUri", why=f"--model names another model than {each.uri}", way_out="remove it")
            for each in parts.folders
            if each.mount == DOWNLOADED and not each.volume
        ]


def _by_name(draft: str) -> bool:
    """Whether the name of a draft decides its method, or is that of a method without a draft."""
    return draft in ("ngram", "[ngram]") or any(sign in draft.lower() for sign, _ in PATH_METHODS)


def _use(made: Models, found: FoundArtifact, role: str) -> None:
    made.used.append(found)
    if found.hub:
        made.notes.append(
            f"the {role} {found.uri} {_HUB} at each start of a pod; docs/staging.md#private-models lists other ways"
        )


def _beside_target(made: Models, found: FoundArtifact) -> dict[str, Any]:
    """As in the spec: a model inside the target's own artifact is named by its folder alone."""
    inside = found.path and found.uri == made.target.get("uri")
    return {"path": found.path} if inside else found.said


def _names(made: Models, args: dict[str, Any], parts: InferenceServiceParts, called: str | None, written: Any) -> None:
    """Clients keep the model names that they use: by default the value of --model."""
    served = args.pop("served_model_name", None) or []
    names = list(dict.fromkeys((*served, *([called] if called else []))))
    if not names and written is not None:  # a runtime's own flags may name it after the InferenceService
        known = parts.command.program or parts.source.flags_known
        names = [str(each) for each in (None if known else parts.name, written) if each is not None]
    if names and names[0] != parts.name:
        made.target["name"] = names[0]
    if names[1:]:
        made.target["aliases"] = names[1:]


def _draft(made: Models, parts: InferenceServiceParts, given: str | None) -> None:
    config = dict(made.speculation or {})
    if config.get("method") == "custom_class":
        made.notes.append(f"the operator's runtime must have {config.get('model')}, a Python class of the old image")
    if config.get("method") == "custom_class" or not isinstance(text := config.get("model"), str):
        made.draft = {"uri": given or _DRAFT}
        return
    if given:
        made.draft = {"uri": given}
        return
    if "method" not in config and not _by_name(text):
        made.notes.append(
            f"--speculative-config names no method, and the engine reads it from config.json of the draft {text}: "
            "speculation.method draft_model is a guess; check it"
        )
    revision = config.get("revision")
    found = find(text, parts.folders, None if revision is None else str(revision))
    if found is None:
        why = f"{text} is not inside an artifact of the InferenceService; {_DRAFT} is a placeholder"
        way_out = "set spec.speculation.draft.uri to the location of the draft"
        made.lost.append(Lost(field="--speculative-config (model)", why=why, way_out=way_out))
        made.draft = {"uri": _DRAFT}
        return
    if _drafts_itself(made, config, found):
        made.speculation = {key: value for key, value in config.items() if key not in ("model", "revision")}
        made.draft = {"uri": _DRAFT}
        return
    _use(made, found, "draft")
    if found.hub and revision is not None:
        made.speculation = {key: value for key, value in config.items() if key != "revision"}
    made.draft = _beside_target(made, found)


def _drafts_itself(made: Models, config: Json, found: FoundArtifact) -> bool:
    """Whether the named draft is the target: with mtp the engine uses the target's own heads."""
    same = (found.uri, found.path) == (made.target.get("uri"), made.target.get("path", ""))
    return same and plain_name(str(config.get("method"))) == "mtp"


def _adapters(made: Models, args: dict[str, Any], parts: InferenceServiceParts) -> None:
    """--lora-modules as spec.model.adapters; one whose folder is not found is listed as lost."""
    modules = args.pop("lora_modules", None)
    if modules is None:
        return
    carried = []
    for each in modules if isinstance(modules, list) else [modules]:
        name, path = _module(str(each))
        found = find(path, parts.folders)
        if found is None:
            why = f"{path} is not inside an artifact of the InferenceService"
            way_out = "add it to spec.model.adapters"
            made.lost.append(Lost(field=f"--lora-modules {each}", why=why, way_out=way_out))
            continue
        _use(made, found, "adapter")
        carried.append({"name": name, **_beside_target(made, found)})
    if carried:
        made.target["adapters"] = carried
        if (rank := str(args.pop("max_lora_rank", ""))).isdecimal():
            carried[0]["rank"] = int(rank)
        args.pop("enable_lora", None)


def _speculators(made: Models) -> None:
    """A checkpoint of the library speculators names its target, which vLLM serves together with it."""
    place = "/".join(str(made.target.get(key, "")) for key in ("uri", "path"))
    if made.speculation is None and _SPECULATOR.search(place):
        made.notes.append(
            f"{made.target['uri']} is named like a draft: if its config.json has speculators_config, vLLM serves the "
            "target that it names, with speculation: set spec.model to that target and spec.speculation.draft to this "
            "checkpoint"
        )


def _module(text: str) -> tuple[str, str]:
    """Name and folder, from NAME=FOLDER or from JSON."""
    if text.startswith("{"):
        try:
            told = json.loads(text)
            return str(told["name"]), str(told["path"])
        except (ValueError, KeyError, RecursionError):
            return text, ""
    name, _, path = text.partition("=")
    return name, path


def _unused(made: Models, args: dict[str, Any], parts: InferenceServiceParts) -> None:
    """Artifacts that no model is, and flags that name files in one that is: it lies elsewhere in the new pods."""
    used = [each.folder for each in made.used if each.folder is not None]
    for folder in parts.folders:
        if folder not in used and not folder.volume and made.target.get("uri") != folder.uri:
            way_out = "name it as draft or adapter, or mount it with spec.pod.volumes"
            lost = Lost(field=f"storageUri {folder.uri}", why=f"no flag uses {folder.mount}", way_out=way_out)
            if not any(folder.uri in each.why for each in made.lost):
                made.lost.append(lost)
    for name, value in list(args.items()):
        if isinstance(value, str) and any(is_inside(value, each) for each in used):
            why = "the operator mounts this folder of the artifact at another path"
            way_out = f"put the file into a ConfigMap or a PVC, mount it with spec.pod.volumes, and set {option(name)}"
            made.lost.append(Lost(field=f"{option(name)}={value}", why=why, way_out=way_out))
            del args[name]
    made.volumes = frozenset(each.volume for each in used if each.volume)
