"""The rules as Prometheus reads them, plain or as an object of its operator."""

from typing import Any, Final

from hack.monitoring.alerts import SERVICES, Alert
from hack.monitoring.operator_alerts import OPERATOR
from hack.monitoring.recording import ENGINES, FLEET, Recording

Object = dict[str, Any]
RUNBOOKS: Final = "https://specdec.io/docs/runbooks/{alert}.html"
"""Where the pages of docs/runbooks are served; another place is told by --runbooks."""


def groups(runbooks: str = RUNBOOKS) -> Object:
    """A rule file. runbooks: the URL of an alert's page, with {alert} for its name. Raises ValueError without it."""
    if "{alert}" not in runbooks:
        raise ValueError(f"runbooks={runbooks!r}: write {{alert}} where the name of the alert goes, as in {RUNBOOKS}")
    return {
        "groups": [
            {"name": "specdec.services", "rules": [_alert(each, runbooks) for each in SERVICES]},
            {"name": "specdec.operator", "rules": [_alert(each, runbooks) for each in OPERATOR]},
            {"name": "specdec.fleet", "rules": [_recording(each) for each in FLEET]},
            {"name": "specdec.engines", "rules": [_recording(each) for each in ENGINES]},
        ]
    }


def prometheus_rule(runbooks: str = RUNBOOKS) -> Object:
    """The same as an object of the Prometheus operator."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "specdec-operator"},
        "spec": groups(runbooks),
    }


def _alert(alert: Alert, runbooks: str) -> Object:
    lasts = {"for": alert.lasts} if alert.lasts else {}
    page = runbooks.replace("{alert}", alert.name)
    said = {"summary": alert.summary, "description": alert.description, "runbook_url": page}
    return {"alert": alert.name, "expr": alert.expr, **lasts, "labels": {"severity": alert.severity}} | {
        "annotations": said
    }


def _recording(rule: Recording) -> Object:
    return {"record": rule.record, "expr": rule.expr}
