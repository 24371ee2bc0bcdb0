"""The parts of the tests: what each proves, what it needs and how long it takes; and the plans of `make test` and
`make test-all`.

A plan has lanes that run side by side, and parts that run alone afterwards, because they measure times or speeds.
`REST` is what `make test` leaves out, for runs with little time: they begin with another part each time.
"""

from dataclasses import dataclass, replace
from enum import StrEnum


class PartNeeds(StrEnum):
    """What has to be on this machine before a part can run."""

    NOTHING = "nothing"
    IMAGES = "the images and the tiny models"
    CLUSTER = "the local cluster, without an operator"
    OPERATOR = "the local cluster, with the operator"


@dataclass(frozen=True, slots=True, kw_only=True)
class SuitePart:
    """Some of the tests, run by one pytest. words: its paths and options.

    minutes: what it takes by itself on two cores with warm caches, by which a run with a time limit decides whether it
    begins.
    """

    name: str
    proves: str
    words: tuple[str, ...]
    minutes: float
    needs: PartNeeds = PartNeeds.NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class LanePlan:
    """lanes: parts of a lane run one after the other, lanes side by side. alone: afterwards, one after the other.

    Parts that need the cluster are in one lane, because they change it; those without an operator come first.
    """

    lanes: tuple[tuple[SuitePart, ...], ...]
    alone: tuple[SuitePart, ...] = ()

    @property
    def parts(self) -> tuple[SuitePart, ...]:
        """All of them."""
        return (*(part for lane in self.lanes for part in lane), *self.alone)


LIFE_CYCLE = "tests/chart/test_life_cycle.py"
OTHER_KSERVES = "tests/node/test_kserve_versions.py"
ENGINE = tuple(f"tests/node/test_{name}.py" for name in ("methods", "faults", "engine", "check", "dial"))
"""They start the engine out of its image, and no pod."""
STAGING = tuple(f"tests/node/test_{name}.py" for name in ("layouts", "foreign_image", "guest"))
GUARDED = tuple(f"tests/node/test_{name}.py" for name in ("baseline_pods", "dialled_pods", "guard", "hangs"))
FAULTS = "tests/wire/faults"
INDEX = ("tests/unit/hack/test_images_resolved.py", "tests/unit/hack/test_packaging_plugin.py")
SLOW_WIRE = tuple(
    f"tests/wire/test_{name}.py"
    for name in ("denials", "guest", "missing_parts", "monitoring", "scaling", "shards", "web")
)
"""Half of the time of all tests against the API server: they wait for retries and for several operators."""
UPGRADE = f"{LIFE_CYCLE}::test_an_upgrade_brings_the_newer_crd_and_a_rollback_the_older"
STAGED = "tests/node/test_layouts.py::test_target_and_draft_from_two_modelcars"
STORIES = (
    "tests/node/test_story.py::test_serve_watch_roll_back",
    "tests/node/test_baseline_pods.py::test_a_slow_draft_is_taken_out_with_a_baseline_pod",
)


_TWO_FILES = ("-n", "2", "--dist=loadfile")
_IN_TURN = "--dist=worksteal"
"""Each worker takes files in turn, so that a fixture of a file, such as the built site, is made once."""
_BY_GROUP = "--dist=loadgroup"
"""A group of tests that have an API server of their own is on one worker; the others are each on any."""


def _ignored(*paths: str) -> tuple[str, ...]:
    return tuple(f"--ignore={each}" for each in paths)


UNIT = SuitePart(
    name="unit",
    minutes=6,
    proves="decisions as pure functions, with what people type and read",
    words=("-n", "2", _IN_TURN, *_ignored(*INDEX), "tests/unit"),
)
WIRE = SuitePart(
    name="wire",
    minutes=6,
    proves="the operator against a real etcd and kube-apiserver, and what the real KServe makes of its services",
    words=("-n", "4", _BY_GROUP, *_ignored(FAULTS, *SLOW_WIRE), "tests/wire", "tests/kserve"),
)
QUICK = LanePlan(
    lanes=(
        (UNIT,),
        (WIRE,),
        (
            SuitePart(
                name="node, upgrade",
                minutes=3,
                proves="real Helm on a real node: the chart is upgraded and rolled back, and serves a model in between",
                words=(UPGRADE,),
                needs=PartNeeds.CLUSTER,
            ),
            SuitePart(
                name="node, Modelcars",
                minutes=2,
                proves="real kubelet and vLLM: target and draft are staged from two images, and the draft serves",
                words=(STAGED,),
                needs=PartNeeds.OPERATOR,
            ),
        ),
    ),
    alone=(
        SuitePart(
            name="node, stories",
            minutes=5,
            proves="real kubelet and vLLM: a draft serves, a bad one ends, a slow one goes by the baseline next to it",
            words=STORIES,
            needs=PartNeeds.OPERATOR,
        ),
    ),
)
"""`make test`: the main job in minutes, and one story of each kind on the node."""

_SHARED = (
    SuitePart(
        name="chart, life cycle",
        minutes=3,
        proves="real Helm on a real node: install, test, upgrade, uninstall, adopt",
        words=(LIFE_CYCLE,),
        needs=PartNeeds.CLUSTER,
    ),
    SuitePart(
        name="node, staging",
        minutes=10,
        proves="models from S3, PVCs, Modelcars and image volumes; guests and foreign images, on a real node",
        words=(*_TWO_FILES, *STAGING),
        needs=PartNeeds.OPERATOR,
    ),
    SuitePart(
        name="node, guard",
        minutes=16,
        proves="the dial, baseline pods, fewer tokens and engines that hang, on a real node",
        words=(*_TWO_FILES, "-m", "not alone", *GUARDED),
        needs=PartNeeds.OPERATOR,
    ),
    SuitePart(
        name="node",
        minutes=14,
        proves="drains, rollbacks, full clusters, memory and mistakes, on a real node",
        words=(*_TWO_FILES, "-m", "not alone", *_ignored(OTHER_KSERVES, *ENGINE, *STAGING, *GUARDED), "tests/node"),
        needs=PartNeeds.OPERATOR,
    ),
    SuitePart(
        name="node, other KServes",
        minutes=6,
        proves="the first story on KServe 0.16, 0.17 and 0.19",
        words=(OTHER_KSERVES,),
        needs=PartNeeds.OPERATOR,
    ),
)
"""What the node does while other lanes run: two tests at once, each in its own namespace, but those of a file one after
the other: they share what a fixture has made, and count requests."""
_COMPUTING = (
    UNIT,
    SuitePart(
        name="lab",
        minutes=6,
        proves="the guard's simulation, the benchmarks and a short soak do what their pages say",
        words=("-n", "2", "lab/tests"),
    ),
    SuitePart(
        name="gitops, chart, browser",
        minutes=3,
        proves="Argo CD's and Flux's own code; what the chart renders; the pages in a real Chromium",
        words=("-n", "2", *_ignored(LIFE_CYCLE), "tests/gitops", "tests/chart", "tests/browser"),
    ),
    SuitePart(
        name="packages",
        minutes=2,
        proves="the package index has what each image and the plugin install, and it holds together",
        words=("-n", "2", *INDEX),
    ),
    SuitePart(
        name="engine",
        minutes=22,
        proves="methods, dial and dips answer as the plain engine does; each fault of a model is found by its layer",
        words=ENGINE,
        needs=PartNeeds.IMAGES,
    ),
)
_WAITING = (
    WIRE,
    SuitePart(
        name="wire, slower tests",
        minutes=4,
        proves="refusals that are tried again, guests, shards, autoscalers and dashboards, with a real API server",
        words=("-n", "4", *SLOW_WIRE),
    ),
    SuitePart(
        name="faults",
        minutes=16,
        proves="crashes, lost watches, refused writes and lying metrics against a real API server",
        words=("-n", "6", "--dist=loadfile", FAULTS),  # some files have an API server of their own
    ),
)
ALL = LanePlan(
    lanes=(_COMPUTING, _WAITING, _SHARED),
    alone=(
        SuitePart(
            name="node, alone",
            minutes=20,
            proves="what measures seconds or speeds, and what needs the whole node",
            words=("-m", "alone", *_ignored(OTHER_KSERVES, *ENGINE, *STAGING), "tests/node"),
            needs=PartNeeds.OPERATOR,
        ),
    ),
)
"""`make test-all`: every test once."""
_DONE = tuple(f"--deselect={each}" for each in (UPGRADE, STAGED, *STORIES))
REST = tuple(
    replace(part, words=(*_DONE, *part.words)) if part.needs in (PartNeeds.CLUSTER, PartNeeds.OPERATOR) else part
    for part in ALL.parts
    if part not in QUICK.parts
)
"""What `make test` leaves out."""
