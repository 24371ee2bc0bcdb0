"""The same as the pages, as JSON for programs. Pure."""

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from datetime import datetime
from typing import Any

from specdec_operator.cli.found import Found
from specdec_operator.web.fleet import WORDS, Question, Row, chosen, concern_of
from specdec_operator.web.next_step import steps
from specdec_operator.web.seen import Service


def fleet_data(rows: Sequence[Row], asked: Question) -> str:
    """The rows that are asked for, all of them."""
    return _text({"services": [_row(row) for row in chosen(rows, asked)]})


def service_data(service: Service, now: datetime) -> str:
    """One sis as it is shown: without engine.env, engine.args, pod and resources."""
    sis = Found(service.body)
    told = {
        "concern": WORDS[concern_of(sis)],
        "next": [asdict(step) for step in steps(sis, now)],
        "pods": [{"name": pod.name, "revision": pod.revision, "ready": pod.ready} for pod in service.pods],
    }
    return _text({**service.body, **told})


def _row(row: Row) -> dict[str, Any]:
    since = row.since.isoformat() if row.since else None
    told = {each.name: getattr(row, each.name) for each in fields(row)}
    return told | {"concern": WORDS[row.concern], "since": since}


def _text(told: Any) -> str:
    return json.dumps(told)
