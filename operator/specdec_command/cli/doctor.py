"""`specdec doctor`: what is wrong with a cluster, as its user sees it, and how to mend it."""

import sys
from collections.abc import Mapping
from typing import Annotated, Any, Final

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from specdec_command.cli.connect import Context, Kubeconfig, checked, done
from specdec_command.cli.input import Form, Shown, as_json, say
from specdec_command.doctor.check_kserve import kserve
from specdec_command.doctor.examine import Examined, examine
from specdec_command.doctor.finding import Area, DoctorFinding, DoctorSeverity
from specdec_command.doctor.objects import operators, services
from specdec_command.doctor.snapshot import Snapshot
from specdec_operator.display.describe import UNICODE, glyphs_for
from specdec_operator.staging.kserve import shown

FINE, TO_FIX, UNSEEN = 0, 1, 2
_MOST_PLACES: Final = 3
_SIGNS: Final = {"fine": "✓", DoctorSeverity.FIX: "✗", DoctorSeverity.LOOK: "!", DoctorSeverity.UNKNOWN: "?"}
_PLAIN: Final = {"fine": "ok", DoctorSeverity.FIX: "FIX", DoctorSeverity.LOOK: "look", DoctorSeverity.UNKNOWN: "?"}
_STYLES: Final = {
    "fine": "green",
    DoctorSeverity.FIX: "bold red",
    DoctorSeverity.LOOK: "yellow",
    DoctorSeverity.UNKNOWN: "dim",
}


Place = Annotated[
    str | None,
    typer.Option("-n", "--namespace", help="Check the services of this namespace. Default: all.", callback=checked),
]
Only = Annotated[str | None, typer.Option("--service", help="Check the services of this name.", callback=checked)]
Home = Annotated[
    str | None,
    typer.Option(
        help="Namespace of the operator. Default: found by a search, else specdec-system.",
        callback=checked,
    ),
]


def doctor(
    *,
    namespace: Place = None,
    service: Only = None,
    operator_namespace: Home = None,
    output: Shown = Form.TEXT,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Check a cluster and show what to fix: KServe, CRD, operator, permissions, runtimes, devices, metrics, PVCs.

    Exit codes: 0 nothing to fix, 1 something is, 2 the cluster could not be looked at.
    """
    from specdec_command.doctor.gather import Onlooker, take_snapshot  # noqa: PLC0415 - kubernetes takes long to import

    async def work() -> int:
        async with await Onlooker.as_user(kubeconfig, context) as user:
            snapshot = await take_snapshot(user, namespace=namespace, service=service, home=operator_namespace)
        examined = examine(snapshot)
        if output is Form.JSON:
            typer.echo(as_json(document(snapshot, examined)))
        else:
            say(page(snapshot, examined, signs_for(sys.stdout.encoding)))
        return TO_FIX if examined.to_fix else FINE

    done(work(), failed=UNSEEN)


def document(snapshot: Snapshot, examined: Examined) -> dict[str, Any]:
    """What was found, for programs."""
    return {
        "server": snapshot.server,
        "seen": dict(_seen(snapshot)),
        "areas": {area.value: examined.state(area) for area in Area},
        "toFix": examined.to_fix,
        "findings": [_entry(each) for each in examined.findings],
    }


def _entry(finding: DoctorFinding) -> dict[str, str]:
    return {
        "id": finding.kind.id,
        "severity": finding.kind.severity.value,
        "area": finding.area.value,
        "about": finding.about,
        "what": finding.what,
        "why": finding.kind.why,
        "fix": finding.fix,
    }


def page(snapshot: Snapshot, examined: Examined, signs: Mapping[str, str]) -> RenderableType:
    """What was found, for people: a line for each area, and below it its findings."""
    lines: list[RenderableType] = []
    for area in Area:
        state = examined.state(area)
        lines.append(Text.assemble((signs[state], _STYLES[state]), f" {area.value}"))
        for each in examined.findings:
            if each.area is area:
                lines += _finding(each, signs)
    seen = (Text(f"  {name:<12} {text}") for name, text in _seen(snapshot))
    return Group(Text(snapshot.server, style="bold"), *seen, Text(), *lines, Text(), Text(_verdict(examined)))


def _finding(finding: DoctorFinding, signs: Mapping[str, str]) -> list[RenderableType]:
    severity = finding.kind.severity
    head = (f"{signs[severity]} {finding.kind.id}", _STYLES[severity])
    what = Text.assemble(head, f"  {finding.what}: {finding.kind.why}", overflow="fold")
    fix = Text.assemble(("fix: ", "bold"), finding.fix, overflow="fold")
    return [Padding(what, (0, 0, 0, 2)), Padding(fix, (0, 0, 0, 4))]


def _verdict(examined: Examined) -> str:
    look = sum(each.kind.severity is DoctorSeverity.LOOK for each in examined.findings)
    dark = sum(each.kind.severity is DoctorSeverity.UNKNOWN for each in examined.findings)
    fix = f"{examined.to_fix} to fix" if examined.to_fix else "nothing to fix"
    return f"{fix}, {look} to check, {dark} unknown"


def _seen(snapshot: Snapshot) -> list[tuple[str, str]]:
    """What there is, in a few words."""
    versions, running, every = kserve(snapshot), operators(snapshot.operators), services(snapshot)
    places = sorted({each.namespace for each in every})
    return [
        ("Kubernetes", shown(versions.kubernetes) if versions.kubernetes else "not known"),
        ("KServe", f"{shown(versions.version)} ({versions.seen})" if versions.version else "not known"),
        ("operator", ", ".join(f"{each.image} in {each.namespace}" for each in running) or "none seen"),
        ("this command", snapshot.command),
        ("services", f"{len(every)} in {_listed(places)}" if every else "none seen"),
        ("nodes", str(len(snapshot.nodes.items)) if snapshot.nodes.there else "not seen"),
    ]


def _listed(places: list[str]) -> str:
    return ", ".join(places[:_MOST_PLACES]) + (" and others" if len(places) > _MOST_PLACES else "")


def styles_for(severity: DoctorSeverity) -> str:
    """How a terminal shows a severity."""
    return _STYLES[severity]


def signs_for(encoding: str | None) -> Mapping[str, str]:
    """Marks of the states that an output of this encoding can show."""
    return _SIGNS if glyphs_for(encoding or "") is UNICODE else _PLAIN
