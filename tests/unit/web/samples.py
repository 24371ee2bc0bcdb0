"""Services for the tests of the web page: the statuses of tests/golden/status, under names of their own."""

import copy
import pathlib
from datetime import UTC, datetime
from typing import Any

import yaml

from specdec_operator.observe.pods import ContainerView, PodView
from specdec_operator.web.html import Frame
from specdec_operator.web.store import SeenService, ServiceStore

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
FRAME = Frame(depth=0, now=NOW)
_FOLDER = pathlib.Path(__file__).parents[2] / "golden" / "status"
CASES = sorted(path.stem for path in _FOLDER.glob("*.yaml"))
HOSTILE = "\"><script>alert(1)</script><img src=x onerror=alert(1)>&amp;'\u202e\x1b[31m"
"""What a tenant may write wherever the API server takes any string."""


def sample(case: str, **meta: Any) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((_FOLDER / f"{case}.yaml").read_text())
    found["metadata"] |= meta
    return found


def spoiled(value: Any) -> Any:
    """The same with every text replaced by a hostile one, except times, which the page would only drop."""
    if isinstance(value, dict):
        return {key: spoiled(each) for key, each in value.items()}
    if isinstance(value, list):
        return [spoiled(each) for each in value]
    if isinstance(value, str) and value[:2] != "20":
        return value + HOSTILE
    return copy.copy(value)


def pod(name: str = "llama-predictor-0", **fields: Any) -> PodView:
    usual = {"revision": "5f7c9a1b2c", "ip": "10.0.0.1", "ready": True, "deleting": False, "ready_since": 1.0}
    return PodView(name=name, **(usual | fields))


def waiting(words: str) -> PodView:
    engine = ContainerView(name="kserve-container", waiting="CrashLoopBackOff", waiting_words=words, ends=3)
    return pod("llama-predictor-1", ready=False, engine=engine)


def service(case: str) -> SeenService:
    return SeenService(body=sample(case), pods=(pod(), waiting("back-off 40s")))


def fleet() -> ServiceStore:
    seen = ServiceStore(lambda key: (pod(f"{key[1]}-predictor-0"), waiting("back-off 40s")))
    for number, case in enumerate(CASES):
        seen.note(sample(case, name=case, namespace=f"team-{'ab'[number % 2]}"), deleted=False)
    return seen
