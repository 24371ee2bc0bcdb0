"""Generates the CRD from the models of the spec and the status: JSON schema in, structural schema with CEL rules out.

`python -m specdec_operator.schema.crd` prints crds/serving.specdec.io_speculativeinferenceservices.yaml.
"""

import json
import sys
from collections.abc import Sequence
from typing import Any, Final

import yaml
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import TupleSchema

from specdec_operator import names
from specdec_operator.api.spec import Spec
from specdec_operator.api.types import rule
from specdec_operator.schema.status import UNSEEN, Status

Schema = dict[str, Any]

_SCALE: Final = {
    "specReplicasPath": ".spec.replicas",
    "statusReplicasPath": ".status.replicas",
    "labelSelectorPath": ".status.selector",
}
"""What `kubectl scale`, and an HPA of the service itself, read and write."""

_NAME_RULE = "self.metadata.name.size() <= 53 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')"
_NAME_MESSAGE = (
    "metadata.name must be at most 53 characters of a-z, 0-9 and '-', beginning with a letter: KServe creates a "
    "Service NAME-predictor, and a Service name has at most 63 characters"
)
_COLUMNS = (
    ("Ready", "string", '.status.conditions[?(@.type=="Ready")].status', 0, "Whether the service answers requests."),
    ("Phase", "string", ".status.phase", 0, "The guard's state."),
    ("Method", "string", ".status.serving.method", 0, "Method in use."),
    ("K", "integer", ".status.serving.drafted", 0, "K in force: tokens guessed per step; empty while pods differ."),
    ("Accept", "number", ".status.acceptance.rate", 0, "Accepted / drafted tokens in the last measured window."),
    ("Speedup", "number", ".status.performance.speedup", 0, "Compared with the baseline at the same load."),
    ("Pods", "integer", ".status.readyReplicas", 1, "Ready pods, without baseline pods."),
    ("Reason", "string", ".status.reason", 1, "Reason, in one word."),
    ("AccLen", "number", ".status.acceptance.length", 1, "Tokens that one step of the target yields."),
    ("Rollbacks", "integer", ".status.guard.rollbacks", 1, "Rollbacks so far."),
    ("Target", "string", ".spec.model.uri", 1, "Location of the target model."),
    ("Draft", "string", ".spec.speculation.draft.uri", 1, "Location of the draft model."),
    ("URL", "string", ".status.serving.url", 1, "URL for clients."),
    ("Age", "date", ".metadata.creationTimestamp", 0, "Age."),
    ("Dial", "integer", ".status.dial.tokens", 1, "Draft tokens that the dial requests; empty: as the flags."),
)


class _Lists(GenerateJsonSchema):
    """Writes a tuple of values of one type as a list of a fixed length: the API server knows no other."""

    def tuple_schema(self, schema: TupleSchema) -> JsonSchemaValue:
        """The schema from pydantic, with `items` in place of `prefixItems`."""
        made = super().tuple_schema(schema)
        if each := made.pop("prefixItems", None):
            made["items"] = each[0]
        return made


def structural(schema: Schema, definitions: Schema) -> Schema:
    """A pydantic JSON schema as the API server takes it: no references, no null unions, no titles."""
    if "$ref" in schema:
        named = definitions[schema["$ref"].rsplit("/", 1)[-1]]
        return structural({**named, **{key: value for key, value in schema.items() if key != "$ref"}}, definitions)
    if "anyOf" in schema:
        return structural(_without_null(schema), definitions)
    out = {key: value for key, value in schema.items() if key not in {"title", "anyOf", "$defs", "properties", "items"}}
    if out.get("default", ...) is None:
        del out["default"]
    if "exclusiveMinimum" in out:
        out |= {"minimum": out["exclusiveMinimum"], "exclusiveMinimum": True}
    if "properties" in schema:
        out["properties"] = {name: structural(part, definitions) for name, part in schema["properties"].items()}
    if out.get("default") == {}:  # CEL rules judge a default before the nested ones are filled in, so it is written out
        out["default"] = {name: part["default"] for name, part in out["properties"].items() if "default" in part}
    if "items" in schema:
        out["items"] = structural(schema["items"], definitions)
    if out.get("additionalProperties") is True:  # x-kubernetes-preserve-unknown-fields is the structural form
        del out["additionalProperties"]
    return out


def _without_null(schema: Schema) -> Schema:
    options = [option for option in schema["anyOf"] if option.get("type") != "null"]
    if len(options) != 1:
        raise ValueError(f"a structural schema has no unions, got {schema['anyOf']}")
    return {**options[0], **{key: value for key, value in schema.items() if key != "anyOf"}}


def openapi() -> Schema:
    """The openAPIV3Schema of the whole object."""
    spec = Spec.model_json_schema(by_alias=True)
    status = Status.model_json_schema(by_alias=True, mode="serialization", schema_generator=_Lists)
    return {
        "type": "object",
        "description": (
            "Serves a model with speculative decoding, measures it, and removes speculation if the service is slower "
            "with it."
        ),
        "required": ["spec"],
        "x-kubernetes-validations": [rule(_NAME_RULE, _NAME_MESSAGE)],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": structural(spec, spec.get("$defs", {})),
            "status": {**_without_required(structural(status, status.get("$defs", {}))), "default": UNSEEN},
        },
    }


def _without_required(schema: Schema) -> Schema:
    """Only the operator writes status. A part that a newer version drops must not make old objects unreadable, and a
    value that it adds must not make new ones unwritable.
    """
    out = {key: value for key, value in schema.items() if key not in {"required", "default", "enum"}}
    if "properties" in out:
        out["properties"] = {name: _without_required(part) for name, part in out["properties"].items()}
    if "items" in out:
        items = _without_required(out["items"])
        if keys := out.get("x-kubernetes-list-map-keys"):
            items["required"] = keys
        out["items"] = items
    return out


def crd(served: Sequence[str] = (names.VERSION,), stored: str = names.VERSION) -> dict[str, Any]:
    """The CustomResourceDefinition. served: versions of the API, all with the present schema; stored: one of them.

    Versions that agree need no webhook that converts: the API server changes nothing but the version
    (docs/decisions/0019-from-v1alpha1-to-v1beta1.md).
    """
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names.PLURAL}.{names.GROUP}", "labels": {"app.kubernetes.io/name": "specdec-operator"}},
        "spec": {
            "group": names.GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": names.KIND,
                "listKind": f"{names.KIND}List",
                "plural": names.PLURAL,
                "singular": names.SINGULAR,
                "shortNames": [names.SHORT_NAME],
            },
            "versions": [_version(name, stored=name == stored) for name in served],
        },
    }


def _version(name: str, *, stored: bool) -> dict[str, Any]:
    """One version of the API, with the present schema and columns."""
    columns = [
        {"name": column, "type": kind, "jsonPath": path, "priority": priority, "description": description}
        for column, kind, path, priority, description in _COLUMNS
    ]
    return {
        "name": name,
        "served": True,
        "storage": stored,
        "schema": {"openAPIV3Schema": openapi()},
        "subresources": {"status": {}, "scale": dict(_SCALE)},
        "additionalPrinterColumns": columns,
    }


def main(argv: list[str]) -> None:
    """Print the CRD, or with the word `schema` its schema as JSON, which `specdec validate` reads."""
    if argv == ["schema"]:
        sys.stdout.write(json.dumps(openapi(), separators=(",", ":"), ensure_ascii=False) + "\n")
        return
    sys.stdout.write("# Generated by `make generate` from operator/specdec_operator/api. Do not edit.\n")
    yaml.safe_dump(crd(), sys.stdout, sort_keys=False, width=110, allow_unicode=True)


if __name__ == "__main__":
    main(sys.argv[1:])
