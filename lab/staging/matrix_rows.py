"""What is asked: every mix of docs/staging.md as an InferenceService, by each field that could bring it. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from lab.staging.matrix_pod import uri_of
from lab.staging.page import Row, rows
from specdec_command.validation.check import crd_schema
from specdec_command.validation.schema import filled
from specdec_operator.api.spec import Owner, Spec
from specdec_operator.guard.state import Phase, State
from specdec_operator.names import OWNER_LABEL
from specdec_operator.render.inference_service import render
from specdec_operator.render.plan import Plan, plan
from specdec_operator.staging.artifacts import claim_name
from specdec_operator.staging.kserve import KServe

Object = dict[str, Any]
_STATE: Final = State(phase=Phase.SERVING, since=0.0, speculation="")
_S3: Final = "s3://bucket/"
SCHEMES: Final[Mapping[str, str]] = {
    "s3": "s3://bucket/{}",
    "hf": "hf://example-org/{}:1",
    "gs": "gs://bucket/{}",
    "https": "https://models.example/{}.tar.gz",
    "git": "https://models.example/{}.git",
}
"""The downloads of a row, each written in these ways."""


class Form(StrEnum):
    """The field by which KServe is to bring artifacts."""

    LIST = "storageUris"
    SINGLE = "storageUri"
    VOLUMES = "volumes"


_KSERVES: Final = {Form.LIST: KServe(version=(0, 20)), Form.SINGLE: KServe(version=(0, 15))}
"""The operator renders one field for the first version and the other for the second, if the spec allows both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One InferenceService. wanted: by role, the URI of what has to be at the path of its flag."""

    name: str
    row: Row
    scheme: str
    form: Form
    manifest: Object
    wanted: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operators:
    """What the operator does about a mix: the form that it renders, and the rules that refuse it."""

    form: Form
    refused: tuple[str, ...]


def every(namespace: str) -> list[Asked]:
    """Each mix by each field, named in the order of the page."""
    return [each for index, row in enumerate(rows()) for each in _of_row(row, f"r{index:02}", namespace)]


def operators(row: Row, scheme: str, kserve: KServe) -> Operators:
    """What the operator does on a cluster."""
    made = _planned(_spec(row, scheme), "name", kserve)
    return Operators(form=_form(made), refused=tuple(dict.fromkeys(each.rule.id for each in made.refused)))


def _of_row(row: Row, name: str, namespace: str) -> Iterator[Asked]:
    remote = any(_S3 in str(part) for part in row.spec.values())
    for scheme in SCHEMES if remote and row.mode == "Auto" else ["s3"]:
        spec, seen = _spec(row, scheme), set[Form]()
        for short, kserve in (("l", _KSERVES[Form.LIST]), ("s", _KSERVES[Form.SINGLE])):
            called = f"{name}-{scheme}-{short}"
            planned = _planned(spec, called, kserve)
            if (form := _form(planned)) not in seen:
                seen.add(form)
                manifest = manifest_of(planned, called, namespace)
                wanted = _wanted(spec, planned, called)
                yield Asked(name=called, row=row, scheme=scheme, form=form, manifest=manifest, wanted=wanted)


def manifest_of(planned: Plan, name: str, namespace: str) -> Object:
    """The InferenceService of a plan, without an owner."""
    manifest = render(planned, Owner(name=name, namespace=namespace, uid="")).manifest
    del manifest["metadata"]["ownerReferences"]
    assert manifest["metadata"]["labels"][OWNER_LABEL] == name
    return manifest


def _spec(row: Row, scheme: str) -> Object:
    """The row's spec, with downloads by another scheme."""
    spec = {key: _with_scheme(row.spec[key], scheme) for key in ("model", "staging")}
    if adapters := spec["model"].get("adapters"):
        spec["model"]["adapters"] = [_with_scheme(each, scheme) for each in adapters]
    lies = _with_scheme(row.spec["speculation"]["draft"], scheme)
    method = {"method": "draft_model", "tokens": 4, "draft": lies} if lies else {"method": "ngram", "tokens": 4}
    return {**spec, "speculation": method, "engine": {"accelerator": "cpu", **row.spec.get("engine", {})}}


def _with_scheme(part: Mapping[str, Any], scheme: str) -> Object:
    uri = str(part.get("uri", ""))
    changed = SCHEMES[scheme].format(uri.removeprefix(_S3)) if uri.startswith(_S3) else uri
    return {**part, "uri": changed} if uri else dict(part)


def _planned(spec: Object, name: str, kserve: KServe) -> Plan:
    return plan_of({"metadata": {"name": name}, "spec": spec}, kserve)


def plan_of(body: Object, kserve: KServe) -> Plan:
    """The operator's plan for a SpeculativeInferenceService, whether it refuses it or not."""
    spec = Spec.model_validate(filled(body, crd_schema())["spec"])
    return plan(spec, _STATE, name=body["metadata"]["name"], kserve=kserve)


def _form(planned: Plan) -> Form:
    if planned.layout.storage_uri:
        return Form.SINGLE
    return Form.LIST if planned.layout.storage_uris else Form.VOLUMES


def _wanted(spec: Object, planned: Plan, name: str) -> dict[str, str]:
    """By role the URI, from the spec itself; a download that a Job made is in its folder of the operator's PVC."""
    model, draft = spec["model"], spec["speculation"].get("draft")
    keys = {uri_of(each.uri): each.key for each in planned.layout.downloads}
    target = uri_of(model["uri"])
    places = {"target": (target, model.get("path", ""))}
    if draft:
        places["draft"] = (uri_of(draft.get("uri", target)), draft.get("path", ""))
    claim = f"pvc://{claim_name(name)}"
    for index, adapter in enumerate(model.get("adapters") or ()):
        places[f"adapter-{index}"] = (uri_of(adapter["uri"]), "")
    return {
        role: uri_of(f"{claim}/{keys[uri]}" if uri in keys else uri, folder) for role, (uri, folder) in places.items()
    }
