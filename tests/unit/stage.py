"""A stage for the loop of one sis: a clock, an API server in a dict, engines that count, and one who plays KServe."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from specdec_operator.api.guard import Guard
from specdec_operator.errors import Invalid, TooLarge, Unavailable
from specdec_operator.guard.counters import Counters, read_counters
from specdec_operator.kube.client import path_of
from specdec_operator.names import DIAL_ANNOTATION, GUARD_MANAGER, OWNER_LABEL, REVISION_LABEL
from specdec_operator.observe.store import Stores
from specdec_operator.reconcile.cluster_info import ClusterInfo
from specdec_operator.reconcile.loop import Reconciler, ReconcileResult
from specdec_operator.reconcile.throttle import RolloutRequest, Throttle
from tests.unit.bodies import make_deployment, make_pod
from tests.unit.builders import NAME, NAMESPACE, Body, make_sis
from tests.wire.pods import EngineStandIn

if TYPE_CHECKING:
    from specdec_operator.errors import OperatorError
    from specdec_operator.report.events import Event

START = 1_795_000_000.0
KEY = (NAMESPACE, NAME)


class FakeCluster:
    """Keeps what was applied last, and the order of calls: ("status", phase) and ("apply", "speculative" or "plain").

    failing: what a verb, or the apply of a kind, raises instead, until it is taken out again. there: what can be read,
    by path. made: every PVC, Job and budget that was applied, with a uid. logs: what the pods' logs end with.
    asked_to_evict, asked_to_patch: how often, in vain or not. webhook: changes what is patched. reads: every path that
    was read, in turn. nodes: labels of each; None: they may not be listed. listed: the selectors that nodes were listed
    by. settings: what each pod's annotation of the dial was set to, in turn.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self.failing: dict[str, OperatorError] = {}
        self.status: Body = {}
        self.child: Body = {}
        self.there: dict[str, Body] = {}
        self.logs: dict[str, str] = {}
        self.made: list[Body] = []
        self.asked_to_evict = 0
        self.asked_to_patch = 0
        self.webhook: Callable[[Body], Body] = lambda child: child
        self.reads: list[str] = []
        self.version = 1
        self.nodes: list[dict[str, str]] | None = []
        self.listed: list[str] = []
        self.settings: list[tuple[str, str | None]] = []

    async def annotate(self, manifest: Body, name: str, text: str | None) -> None:
        """Notes the setting of a pod."""
        assert (manifest["kind"], name) == ("Pod", DIAL_ANNOTATION)
        if error := self.failing.get("annotate"):
            raise error
        self.settings.append((manifest["metadata"]["name"], text))

    async def list_metadata(self, path: str, label_selector: str) -> list[Body] | None:
        """The nodes, whatever chooses them."""
        assert path == "/api/v1/nodes"
        self.listed.append(label_selector)
        return None if self.nodes is None else [{"labels": each} for each in self.nodes]

    async def read(self, path: str, *, most: int | None = None, **_: str) -> Body | None:
        """What lies there, or the InferenceService. Raises TooLarge."""
        self.reads.append(path)
        named = path.rpartition("/inferenceservices/")[2] == self.child.get("metadata", {}).get("name")
        found = with_version(self.child) if named else self.there.get(path)
        if most is not None and (size := len(json.dumps(found))) > most:
            raise TooLarge(path, size, most)
        return found

    async def log_end(self, namespace: str, pod: str) -> str:
        """The end of a pod's log."""
        assert namespace == NAMESPACE
        return self.logs.get(pod, "")

    async def remove(self, manifest: Body) -> None:
        """Notes the deletion."""
        if error := self.failing.get("remove"):
            raise error
        self.calls.append(("remove", manifest["metadata"]["name"]))

    async def evict(self, namespace: str, pod: str) -> None:
        """Notes the eviction."""
        assert namespace == NAMESPACE
        self.asked_to_evict += 1
        if error := self.failing.get("evict"):
            raise error
        self.calls.append(("evict", pod))

    async def find(self, manifest: Body) -> Body | None:
        """The InferenceService, the existing budget, or the PVC or Job that was made last under a name."""
        if manifest["kind"] == "InferenceService":
            return with_version(self.child) if self.child else None
        if manifest["kind"] == "PodDisruptionBudget":
            return self.there.get(path_of(manifest))
        made = [each for each in self.made if each["kind"] == manifest["kind"]]
        named = [each for each in made if each["metadata"]["name"] == manifest["metadata"]["name"]]
        return named[-1] if named else None

    async def patch(self, manifest: Body, changes: Sequence[Body], *, dry_run: bool = False) -> Body:
        """Changes the InferenceService of another owner if every test in the patch holds. The webhook
        sees the result last.
        """
        assert manifest["metadata"]["name"] == self.child["metadata"]["name"]
        self.asked_to_patch += 1
        if error := self.failing.get("patch"):
            raise error
        child = self.webhook(patched(with_version(self.child), changes))
        del child["metadata"]["resourceVersion"]
        owners = [each for each in child["metadata"].get("managedFields", []) if each["manager"] != GUARD_MANAGER]
        child["metadata"]["managedFields"] = [*owners, {"manager": GUARD_MANAGER}]
        if not dry_run:
            self.child = child
            self.calls.append(("patch", manifest["metadata"]["name"]))
        return with_version(child)

    async def set_managers(self, manifest: Body, entries: Sequence[Body]) -> Body:
        """Changes who owns the fields of the InferenceService, at the version that was read."""
        if error := self.failing.get("set_managers"):
            raise error
        assert manifest["metadata"]["resourceVersion"] == with_version(self.child)["metadata"]["resourceVersion"]
        self.child["metadata"]["managedFields"] = list(entries)
        return with_version(self.child)

    async def apply(self, manifest: Body, *, force: bool = True) -> Body:
        """Makes a new generation of a changed InferenceService. Only what is its service's own is written by force."""
        meta = {name: part for name, part in manifest["metadata"].items() if name not in ("uid", "resourceVersion")}
        assert force is (manifest["metadata"].get("resourceVersion") != "1"), "what is not there is not seized"
        manifest = manifest | {"metadata": meta}
        if error := self.failing.get("apply") or self.failing.get(manifest["kind"]):
            raise error
        if not force and manifest["kind"] == "InferenceService" and self.child:
            raise Unavailable("ApiServerRefused", "HTTP 409: the object has been modified")
        if manifest["kind"] != "InferenceService":
            self.calls.append(("apply", manifest["metadata"]["name"]))
            self.made.append(manifest | {"metadata": manifest["metadata"] | {"uid": f"uid-{len(self.made)}"}})
            return self.made[-1]
        self.calls.append(("apply", "speculative" if is_speculative(manifest) else "plain"))
        generation = self.child.get("metadata", {}).get("generation", 0)
        if manifest["spec"] != self.child.get("spec"):
            generation += 1
        self.child = manifest | {"metadata": manifest["metadata"] | {"generation": generation, "uid": "uid-of-child"}}
        return self.child

    async def apply_status(self, namespace: str, name: str, status: Body) -> int:
        """Keeps the status, and counts its versions."""
        assert (namespace, name) == KEY
        if error := self.failing.get("status"):
            raise error
        self.calls.append(("status", status["phase"]))
        self.status = status
        self.version += 1
        return self.version


def with_version(body: Body) -> Body:
    """A copy with the version that its content has: another content is another version."""
    copy: Body = json.loads(json.dumps(body))
    copy["metadata"]["resourceVersion"] = hashlib.sha256(json.dumps(copy).encode()).hexdigest()
    return copy


def patched(body: Body, changes: Sequence[Body]) -> Body:
    """An object after a JSON patch. Raises Invalid where a test does not hold."""
    made: Body = json.loads(json.dumps(body))
    for each in changes:
        holder: Any = made
        *steps, last = (step.replace("~1", "/") for step in each["path"].strip("/").split("/"))
        for step in steps:
            holder = holder[int(step)] if isinstance(holder, list) else holder[step]
        match each["op"]:
            case "test" if holder[last] != each["value"]:
                raise Invalid(each["path"], holder[last], "the API server rejected it: a test in the patch failed")
            case "add" | "replace":
                holder[last] = each["value"]
            case "remove":
                del holder[last]
    return made


def is_speculative(manifest: Body) -> bool:
    """Whether an InferenceService asks for speculation."""
    return any(arg.startswith("--speculative-config") for arg in manifest["spec"]["predictor"]["model"]["args"])


class Stage:
    """One sis, its pods, and the time.

    events: all that were sent. phases: every written phase in turn. asked: the pods that each reading covered.
    spares: engines of the pods in place of deleted ones. runtimes: those in the settings of a started operator.
    told_facts: what each pod reports about its models, None: it has no such page; `told`: how often one was read.
    drafting: what the page of the dial of every pod answers, None: there is no such page.
    seen: what the watches delivered last, of "child", "deployment" and each pod by name. most_guests: see GuestReader.
    """

    most_guests = 0

    def __init__(self, **sis: Any) -> None:
        self.now = START
        self.sis: Body = sis
        self.cluster = FakeCluster()
        self.engines: dict[str, EngineStandIn] = {}
        self.events: list[Event] = []
        self.phases: list[str] = []
        self.asked: list[tuple[str, ...]] = []
        self.spares: list[EngineStandIn] = []
        self._spent = START
        self._made = 0
        self.seen: dict[str, Body] = {}
        self.runtimes: tuple[tuple[str, str], ...] = ()
        self.told = 0
        self.told_facts: bytes | None = None
        self.drafting: Body | None = None
        self.restart()

    def restart(self) -> None:
        """A new operator process, whose watches deliver every existing object."""
        self.wake()
        self.stores = Stores()
        about = {"namespace": "kserve", "told": "0.20", "runtimes": self.runtimes}
        surroundings = ClusterInfo(self.cluster, clock=self.clock, **about)
        self.stores.listed = True
        self.throttle = Throttle(20, lambda _: self.wake())
        self.loop = Reconciler(
            self.cluster,
            self,
            self.stores,
            surroundings,
            throttle=self.throttle,
            clock=self.clock,
            most_guests=self.most_guests,
        )
        for name in [*self.seen]:
            self._note(name, self.seen[name])

    def clock(self) -> float:
        """The time."""
        return self.now

    async def read(
        self, guard: Guard, pods: Mapping[str, str], *, namespace: str, port: int = 8080
    ) -> dict[str, Counters | None]:
        """Answers for the engines, from their pages of metrics; an engine that hangs does not answer."""
        assert (guard.source, namespace) == (None, NAMESPACE)
        self.asked.append(tuple(pods))
        for engine in self.engines.values():
            engine.spend(self.now - self._spent)
        self._spent = self.now
        return {pod: None if self.engines[pod].hangs else read_counters(self.engines[pod].page()) for pod in pods}

    async def facts(self, namespace: str, address: str, *, port: int = 8080) -> bytes | None:
        """What a pod reports about its models: the same for all, as pods of the stage have no own addresses."""
        assert namespace == NAMESPACE
        assert address
        self.told += 1
        return self.told_facts

    async def dial(self, namespace: str, address: str, *, port: int = 8080) -> bytes | None:
        """What a pod drafts: the same for all, as with facts."""
        assert namespace == NAMESPACE
        assert address
        return None if self.drafting is None else json.dumps(self.drafting).encode()

    async def turn(self, *, due: bool = False) -> ReconcileResult:
        """One reconcile, at the clock's time. due: woken only if a watch delivered anything since the last one."""
        shown = json.dumps([self.sis, "phase" in self.cluster.status])
        woken, self._shown = not due or shown != self._shown, shown
        body = make_sis(status=self.cluster.status, **self.sis)
        body["metadata"]["resourceVersion"] = str(self.cluster.version)
        turn = await self.loop.reconcile(body, woken=woken)
        self.events += turn.events
        for pod in {name for verb, name in self.cluster.calls if verb in ("remove", "evict")} & {*self.seen}:
            self._replace(pod)
        phase = self.cluster.status.get("phase")
        if phase and self.phases[-1:] != [phase]:
            self.phases.append(phase)
        return turn

    async def run(self, seconds: float) -> None:
        """Turns for some time, each when the one before asked for it."""
        end = self.now + seconds
        while self.now < end:
            turn = await self.turn(due=True)
            self.now += min(max(turn.requeue_after, 0.01), max(0.01, end - self.now))

    async def until(self, phase: str, seconds: float = 120.0) -> float:
        """Turns until a phase is written; returns the seconds that it took."""
        begun = self.now
        while (turn := await self.turn(due=True)) and self.cluster.status.get("phase") != phase:
            self.now += max(turn.requeue_after, 0.01)
            assert self.now - begun < seconds, f"{phase}: not within {seconds} s, but {self.phases}"
        return self.now - begun

    def roll_out(self, *engines: EngineStandIn, engine: Body | None = None, **pod: Any) -> None:
        """Plays KServe and the kubelet for what was applied last: the new pods stand instead of all others.

        Without engines one pod comes up that does not get ready; `engine` is its container's status.
        """
        revision = self.revision
        for name in [each for each in self.seen if each not in ("child", "deployment")]:
            self._forget(name)
        self.note("child", self.cluster.child | {"status": {"url": "http://llama.team-a"}})
        count = max(1, len(engines))
        mounts = self.predictor["model"]["volumeMounts"]
        mounted = [each["mountPath"] for each in mounts]
        self.note("deployment", make_deployment(revision, replicas=count, available=len(engines), mounted=mounted))
        for each in engines or (None,):
            self._made += 1
            name = f"pod-{self._made}"
            if each is not None:
                self.engines[name] = each
            ready = each is not None
            self.note(name, make_pod(name, revision=revision, ready=ready, engine=engine, mounts=mounts, **pod))

    def _replace(self, gone: str) -> None:
        """Plays the Deployment and the kubelet for a pod that was deleted."""
        revision = self.seen[gone]["metadata"]["labels"][REVISION_LABEL]
        self._forget(gone)
        self._made += 1
        name = f"pod-{self._made}"
        self.engines[name] = self.spares.pop(0) if self.spares else EngineStandIn(tokens_per_second=400.0)
        self.note(name, make_pod(name, revision=revision))

    def note(self, name: str, body: Body) -> None:
        """The watches deliver a child, the Deployment or a pod."""
        self.seen[name] = body
        self._note(name, body)

    def wake(self) -> None:
        """The next turn is a whole one."""
        self._shown = ""

    def crowd(self, others: int) -> None:
        """So many other services are being rolled out by the operator now."""
        for number in range(20):
            other = ("team-b", f"other-{number}")
            self.throttle.ended(other)
            if number < others:
                assert not self.throttle.ticket(other, self.now).urgent
                self.throttle.settle(other, RolloutRequest.URGENT, waits=False, now=self.now)

    def delete_child(self) -> None:
        """A user deletes the InferenceService."""
        self.stores.note_child(self.seen.pop("child"), deleted=True)
        self.cluster.child = {}
        self.wake()

    @property
    def predictor(self) -> Body:
        """What the InferenceService asks for."""
        asked: Body = self.cluster.child["spec"]["predictor"]
        return asked

    @property
    def args(self) -> list[str]:
        """The flags of its engine."""
        found: list[str] = self.predictor["model"]["args"]
        return found

    @property
    def revision(self) -> str:
        """The revision of the pods that it asks for."""
        return str(self.predictor["labels"][REVISION_LABEL])

    def flags(self) -> Body:
        """The speculation that the InferenceService asks the engine for; empty where it is plain."""
        found = [arg.partition("=")[2] for arg in self.args if arg.startswith("--speculative-config")]
        return json.loads(found[0]) if found else {}

    def conditions(self) -> dict[str, Body]:
        """The written conditions by type."""
        return {each["type"]: each for each in self.cluster.status["conditions"]}

    def _note(self, name: str, body: Body, *, deleted: bool = False) -> None:
        self.wake()
        labels = {OWNER_LABEL: NAME} | body["metadata"].get("labels", {})
        body = body | {"metadata": body["metadata"] | {"labels": labels, "namespace": NAMESPACE}}
        tell = {"child": self.stores.note_child, "deployment": self.stores.note_deployment}
        assert tell.get(name, self.stores.note_pod)(body, deleted=deleted) == KEY

    def _forget(self, name: str) -> None:
        self.engines.pop(name, None)
        self._note(name, self.seen.pop(name), deleted=True)


def busy(acceptance: float = 0.8, **changes: Any) -> EngineStandIn:
    """A busy engine whose draft is accepted, unless the arguments change it."""
    return EngineStandIn(**({"tokens_per_second": 400.0, "acceptance": acceptance} | changes))


def baseline(**changes: Any) -> EngineStandIn:
    """A busy engine without speculation."""
    return EngineStandIn(**({"speculative": False, "tokens_per_second": 400.0} | changes))


async def watching(*engines: EngineStandIn, **sis: Any) -> tuple[Stage, EngineStandIn]:
    """A stage whose service is watched, with its first engine: busy, and its draft is accepted, unless given."""
    engines = engines or (busy(),)
    stage = Stage(**sis)
    await stage.turn()
    stage.roll_out(*engines)
    await stage.until("Watching")
    return stage, engines[0]


async def rolled_back(**sis: Any) -> Stage:
    """A stage whose draft was not accepted and is out."""
    stage, engine = await watching(**sis)
    engine.acceptance = 0.0
    await stage.until("Responding")
    stage.roll_out(baseline())
    await stage.until("RolledBack")
    return stage
