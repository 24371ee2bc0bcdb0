"""A case -> the sis that asks for the same, or why there is none."""

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from specdec_operator import names
from specdec_operator.cli.judge import schema
from specdec_operator.cli.structure import filled, problems
from specdec_operator.engine.asked import ask
from specdec_operator.engine.case import Case, Json
from specdec_operator.engine.meant import meant
from specdec_operator.engine.unasked import PLACED, unask
from specdec_operator.errors import Invalid
from specdec_operator.staging.layout import DRAFT_PATH

Body = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What a command line does not say: the name of the service, and where its models lie."""

    name: str = "imported"
    model: str = "pvc://models/target"
    draft: str = "pvc://models/draft"
    served: str = ""
    more: Json = field(default_factory=lambda: MappingProxyType({}))
    """Further parts of the spec, such as resources and replicas."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """The sis, or None, and why not."""

    body: Body | None
    why_not: tuple[str, ...] = ()


def converted(case: Case, place: Place) -> Converted:
    """The sis for a case. It is looked at as the API server would, and asked back: it must mean the same."""
    found = unask(case, draft={"uri": place.draft})
    if found.why_not:
        return Converted(body=None, why_not=found.why_not)
    model = {"uri": place.model} | ({"name": place.served} if place.served else {})
    spec = {"model": model, "speculation": found.speculation, "engine": found.engine, **place.more}
    spec = {name: part for name, part in spec.items() if part is not None}
    meta = {"name": place.name}
    body = {"apiVersion": names.API_VERSION, "kind": names.KIND, "metadata": meta, "spec": spec}
    whole = filled(body, schema())
    if refused := tuple(f"{each.path}: {each.message}" for each in problems(whole, schema(), "")):
        return Converted(body=None, why_not=refused)
    try:
        back = ask(whole["spec"], draft_path=DRAFT_PATH, synthetic=True, target=case.target, draft=case.draft).case
    except Invalid as error:
        return Converted(body=None, why_not=(error.message,))
    if _meaning(back) != _meaning(case):
        return Converted(body=None, why_not=("the spec cannot say all of it",))
    return Converted(body=body)


def _meaning(case: Case) -> tuple[Json | None, Json]:
    """The configuration and the flags, without what the spec says elsewhere."""
    config = meant(case)
    if config is not None and "model" in config and config["method"] != "custom_class":
        config["model"] = "a draft"
    return config, {name: value for name, value in case.args.items() if name not in PLACED}
