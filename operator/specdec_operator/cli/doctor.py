"""`specdec doctor`: what is wrong with a cluster, as its user sees it, and how to mend it."""

import asyncio
import json
import sys
from enum import StrEnum
from typing import Annotated, Any, Final

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from specdec_operator.cli.connect import INTERRUPTED, Context, Kubeconfig, checked
from specdec_operator.cli.status import say
from specdec_operator.doctor.check_kserve import kserve
from specdec_operator.doctor.examine import Examined, examine
from specdec_operator.doctor.finding import Area, Finding, Severity
from specdec_operator.doctor.operators import operators
from specdec_operator.doctor.picture import Picture
from specdec_operator.doctor.services import services
from specdec_operator.errors import OperatorError
from specdec_operator.staging.kserve import shown

FINE, TO_FIX, UNSEEN = 0, 1, 2
_MOST_PLACES: Final = 3
_SIGNS: Final = {"fine": "✓", Severity.FIX: "✗", Severity.LOOK: "!", Severity.UNKNOWN: "?"}
_PLAIN: Final = {"fine": "ok", Severity.FIX: "FIX", Severity.LOOK: "look", Severity.UNKNOWN: "?"}
_STYLES: Final = {"fine": "green", Severity.FIX: "bold red", Severity.LOOK: "yellow", Severity.UNKNOWN: "dim"}


class Form(StrEnum):
    """How findings are shown."""

    TEXT = "text"
    JSON = "json"


Place = Annotated[
    str | None,
    typer.Option("-n", "--namespace", help="Look at the services of this namespace. Default: all.", callback=checked),
]
Only = Annotated[str | None, typer.Option("--service", help="Look at the services of this name.", callback=checked)]
Home = Annotated[
    str | None,
    typer.Option(
        help="Namespace of the operator. Default: it is looked for, last in specdec-system.", callback=checked
    ),
]
Shown = Annotated[Form, typer.Option("--output", "-o", help="For people, or for programs.")]


def doctor(
    *,
    namespace: Place = None,
    service: Only = None,
    operator_namespace: Home = None,
    output: Shown = Form.TEXT,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Look at a cluster and say what to fix: KServe, CRD, operator, permissions, runtimes, devices, metrics, claims.

    Exit codes: 0 nothing to fix, 1 something is, 2 the cluster could not be looked at.
    """
    try:
        picture = asyncio.run(_look(namespace, service, operator_namespace, context, kubeconfig))
    except OperatorError as error:
        typer.echo(f"error: {error.message}", err=True)
        raise typer.Exit(UNSEEN) from error
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    found = examine(picture)
    if output is Form.JSON:
        typer.echo(json.dumps(document(picture, found), indent=2, ensure_ascii=False))
    else:
        say(page(picture, found, signs_for(sys.stdout.encoding)))
    raise typer.Exit(TO_FIX if found.to_fix else FINE)


async def _look(
    namespace: str | None, service: str | None, home: str | None, context: str | None, kubeconfig: str | None
) -> Picture:
    from specdec_operator.cli.doctor_look import Onlooker, picture_of  # noqa: PLC0415 - kubernetes takes long to import

    user = await Onlooker.connect(kubeconfig, context)
    try:
        return await picture_of(user, namespace=namespace, service=service, home=home)
    finally:
        await user.close()


def document(picture: Picture, found: Examined) -> dict[str, Any]:
    """What was found, for programs."""
    return {
        "server": picture.server,
        "seen": dict(_seen(picture)),
        "areas": {area.value: found.state(area) for area in Area},
        "toFix": found.to_fix,
        "findings": [_entry(each) for each in found.findings],
    }


def _entry(finding: Finding) -> dict[str, str]:
    return {
        "id": finding.kind.id,
        "severity": finding.kind.severity.value,
        "area": finding.kind.area.value,
        "about": finding.about,
        "what": finding.what,
        "why": finding.kind.why,
        "fix": finding.fix,
    }


def page(picture: Picture, found: Examined, signs: dict[str, str]) -> RenderableType:
    """What was found, for people: a line for each area, and below it its findings."""
    lines: list[RenderableType] = [Text(picture.server, style="bold")]
    lines += [Text(f"  {name:<12} {words}") for name, words in _seen(picture)]
    lines.append(Text(""))
    for area in Area:
        state = found.state(area)
        lines.append(Text.assemble((signs[state], _STYLES[state]), f" {area.value}"))
        for each in found.findings:
            if each.kind.area is area:
                lines += _told(each, signs)
    lines.append(Text(""))
    lines.append(Text(_verdict(found)))
    return Group(*lines)


def _told(finding: Finding, signs: dict[str, str]) -> list[RenderableType]:
    severity = finding.kind.severity
    head = f"{signs[severity]} {finding.kind.id}"
    said = Text.assemble((head, _STYLES[severity]), f"  {finding.what}: {finding.kind.why}", overflow="fold")
    fix = Text.assemble(("fix: ", "bold"), finding.fix, overflow="fold")
    return [Padding(said, (0, 0, 0, 2)), Padding(fix, (0, 0, 0, 4))]


def _verdict(found: Examined) -> str:
    look = sum(each.kind.severity is Severity.LOOK for each in found.findings)
    dark = sum(each.kind.severity is Severity.UNKNOWN for each in found.findings)
    fix = f"{found.to_fix} to fix" if found.to_fix else "nothing to fix"
    return f"{fix}, {look} to look at, {dark} not known"


def _seen(picture: Picture) -> list[tuple[str, str]]:
    """What there is, in a few words."""
    known, run, every = kserve(picture), operators(picture.operators), services(picture)
    places = sorted({each.namespace for each in every})
    return [
        ("Kubernetes", shown(known.kubernetes) if known.kubernetes else "not known"),
        ("KServe", f"{shown(known.version)} ({known.seen})" if known.version else "not known"),
        ("operator", ", ".join(f"{each.image} in {each.namespace}" for each in run) or "none seen"),
        ("this command", picture.command),
        ("services", f"{len(every)} in {_listed(places)}" if every else "none seen"),
        ("nodes", str(len(picture.nodes.items)) if picture.nodes.there else "not seen"),
    ]


def _listed(places: list[str]) -> str:
    return ", ".join(places[:_MOST_PLACES]) + (" and others" if len(places) > _MOST_PLACES else "")


def signs_for(encoding: str | None) -> dict[str, str]:
    """Marks of the states that an output of this encoding can show."""
    try:
        "".join(_SIGNS.values()).encode(encoding or "ascii")
    except (LookupError, UnicodeError):
        return dict(_PLAIN)
    return dict(_SIGNS)
