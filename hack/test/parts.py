"""The parts of the tests: what each proves, what it needs, and how long it takes.

`CORE`, `BESIDE` and `QUICK` are `make test`: the pure tests, the API server's, and a story of each kind on the real
node. `MORE` and `REST` are everything else. The order of `REST` is turned from run to run, so that runs with little
time begin with another part.
"""

from dataclasses import dataclass
from enum import StrEnum


class Needs(StrEnum):
    """What has to run on this machine before a part can."""

    NOTHING = "nothing"
    CLUSTER = "the local cluster, without an operator"
    OPERATOR = "the local cluster, with the operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Some of the tests, run by one pytest.

    words: paths and options of pytest; minutes: what it takes on two cores with warm caches, by which a run with a time
    limit decides whether it begins.
    """

    name: str
    proves: str
    words: tuple[str, ...]
    minutes: float
    needs: Needs = Needs.NOTHING


LIFE_CYCLE = "tests/chart/test_life_cycle.py"
UPGRADE = f"{LIFE_CYCLE}::test_an_upgrade_brings_the_newer_crd_and_a_rollback_the_older"
STAGED = "tests/node/test_layouts.py::test_target_and_draft_from_two_modelcars"
STORIES = (
    "tests/node/test_story.py::test_serve_watch_roll_back",
    "tests/node/test_arms.py::test_a_slow_draft_is_taken_out_with_a_baseline_pod",
    STAGED,
)
"""One of each kind: they are in `make test`, and left out of the parts that would run them again."""

FAULTS = "tests/wire/faults"
PACKAGES = ("tests/unit/hack/test_images_resolved.py", "tests/unit/hack/test_packaging_plugin.py")
SLOW_WIRE = tuple(
    f"tests/wire/test_{name}.py"
    for name in ("denials", "guest", "missing_parts", "monitoring", "scaling", "shards", "web")
)
"""Half of the time of all tests against the API server: they wait for retries and for several operators."""
UNIT = Part(
    name="unit",
    proves="decisions as pure functions, with what people type and read",
    words=("-n", "2", *(f"--ignore={each}" for each in PACKAGES), "tests/unit"),
    minutes=6,
)
WIRE = Part(
    name="wire",
    proves="the operator against a real etcd and kube-apiserver, and what the real KServe makes of its services",
    words=("-n", "4", *(f"--ignore={each}" for each in (FAULTS, *SLOW_WIRE)), "tests/wire", "tests/kserve"),
    minutes=5,
)
CORE = (UNIT, WIRE)
"""What `make test` runs side by side: the one computes, the other one waits more than it computes."""
BESIDE = (
    Part(
        name="node, upgrade",
        proves="real Helm on a real node: the chart is upgraded and rolled back, and serves a model in between",
        words=(UPGRADE,),
        minutes=3,
        needs=Needs.CLUSTER,
    ),
    Part(
        name="node, Modelcars",
        proves="real kubelet and vLLM: target and draft are staged from two images, and the draft serves",
        words=(STAGED,),
        minutes=2,
        needs=Needs.OPERATOR,
    ),
)
"""What runs on the node while `CORE` runs: nothing in it compares speeds."""
QUICK = (
    Part(
        name="node, stories",
        proves="real kubelet and vLLM: a draft serves, a bad one ends, a slow one goes by the baseline next to it",
        words=STORIES[:2],
        minutes=5,
        needs=Needs.OPERATOR,
    ),
)
"""What runs on the node after `CORE`, alone."""


def _node(name: str, path: str, minutes: float, proves: str) -> Part:
    left_out = tuple(f"--deselect={each}" for each in STORIES if each.startswith(f"{path}::"))
    return Part(name=f"node, {name}", proves=proves, words=(path, *left_out), minutes=minutes, needs=Needs.OPERATOR)


def _node_rest() -> Part:
    """Every node test that has no part of its own."""
    ignored = tuple(f"--ignore={part.words[0]}" for part in LONG)
    left_out = tuple(f"--deselect={each}" for each in STORIES)
    words = (*ignored, *left_out, "tests/node")
    proves = "drains, ends, the guard's steps, mistakes and measuring, on the real node"
    return Part(name="node", proves=proves, words=words, minutes=18, needs=Needs.OPERATOR)


LONG = (
    _node("layouts", "tests/node/test_layouts.py", 6, "models from S3, PVCs, Modelcars and image volumes are staged"),
    _node("other KServes", "tests/node/test_kserve_versions.py", 6, "the first story on KServe 0.16, 0.17 and 0.19"),
    _node(
        "full clusters",
        "tests/node/test_full_cluster.py",
        6,
        "quotas, webhooks, gates and kernel kills meet a rollback",
    ),
    _node("guests", "tests/node/test_guest.py", 5, "what somebody else serves is guarded, imported and moved"),
    _node(
        "foreign images",
        "tests/node/test_foreign_image.py",
        9,
        "an image without this project's package serves, drafts and drains",
    ),
    _node("memory", "tests/node/test_memory.py", 5, "a pair that does not fit its memory limit ends up drafting"),
    _node(
        "planned cache", "tests/node/test_planned_cache.py", 10, "the KV cache is as large as planned, for five pairs"
    ),
    _node(
        "scaling",
        "tests/node/test_scaling.py",
        8,
        "the real HPA takes a service from one pod to three and back by its load; a rollback keeps three",
    ),
    _node("plain pods", "tests/node/test_arms.py", 9, "speed is judged beside plain pods, and with one pod"),
    _node("methods", "tests/node/test_methods.py", 12, "each method answers as the plain engine does"),
    _node("engine faults", "tests/node/test_faults.py", 12, "each fault of a model is found by its layer"),
)
"""Node tests that take long, each a part of its own."""

MORE = Part(
    name="wire, slower tests",
    proves="refusals that are tried again, guests, shards, autoscalers and dashboards, with a real API server",
    words=("-n", "4", *SLOW_WIRE),
    minutes=4,
)
"""Begins each run of the rest: it is short, and a change of the operator breaks it sooner than the others."""
REST = (
    Part(
        name="faults",
        proves="crashes, lost watches, refused writes and lying metrics against a real API server",
        words=("-n", "6", FAULTS),
        minutes=10,
    ),
    Part(
        name="lab",
        proves="the guard's simulation, the benchmarks and a short soak do what their pages say",
        words=("-n", "2", "lab/tests"),
        minutes=6,
    ),
    Part(
        name="packages",
        proves="the package index has what each image and the plugin install, and it holds together",
        words=("-n", "2", *PACKAGES),
        minutes=3,
    ),
    Part(
        name="chart, life cycle",
        proves="real Helm on a real node: install, test, upgrade, uninstall, adopt",
        words=(LIFE_CYCLE, f"--deselect={UPGRADE}"),
        minutes=5,
        needs=Needs.CLUSTER,
    ),
    _node_rest(),
    Part(
        name="gitops, chart, browser",
        proves="Argo CD's and Flux's own code; what the chart renders; the pages in a real Chromium",
        words=("-n", "2", f"--ignore={LIFE_CYCLE}", "tests/gitops", "tests/chart", "tests/browser"),
        minutes=5,
    ),
    *LONG,
)
