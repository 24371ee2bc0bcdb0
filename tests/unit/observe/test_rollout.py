"""How far a rollout is, from the bodies of the Deployment and its pods."""

import json

import pytest
from tests.unit.bodies import crashed, ended, make_deployment, make_pod, running, termination, waiting
from tests.unit.builders import Body

from specdec_operator.api.times import from_time
from specdec_operator.observe.pods import deployment_view, pod_view
from specdec_operator.observe.rollout import Progress, RolloutView, refusal_words, view_rollout

PROGRESSING, COMPLETE, FAILED, BLOCKED = Progress.PROGRESSING, Progress.COMPLETE, Progress.FAILED, Progress.BLOCKED

DIED = json.dumps({"reason": "EngineDied", "field": "", "message": "the engine died while serving: RuntimeError: x"})
REFUSAL = json.dumps({"reason": "DraftMissing", "field": "draft", "message": "/mnt/draft/model: no such folder"})
OLD = make_pod("old", revision="r1")
NOW = from_time("2026-11-20T12:00:00Z")


def seen(
    deployment: Body | None, *pods: Body, waited: float = 10, deadline: float = 60, least: int | None = None
) -> RolloutView:
    """The rollout of r2."""
    return view_rollout(
        "r2",
        deployment_view(deployment) if deployment else None,
        tuple(pod_view(pod) for pod in pods),
        since=NOW - waited,
        now=NOW,
        deadline=deadline,
        least=least,
    )


def new(engine: Body | None = None, *, ready: bool = False, **changes: object) -> Body:
    """A pod of r2."""
    return make_pod("new", revision="r2", ready=ready, engine=engine, **changes)


MOVING = make_deployment("r2", updated=1, available=1, total=2)
"""The new pod is beside the old one."""


@pytest.mark.parametrize(
    ("deployment", "pods", "progress", "reason"),
    [
        (None, [], PROGRESSING, "DeploymentMissing"),
        (None, [OLD], PROGRESSING, "DeploymentMissing"),
        (make_deployment("r1"), [OLD], PROGRESSING, "RollingOut"),
        (make_deployment("r2", seen=False), [OLD], PROGRESSING, "RollingOut"),
        (MOVING, [OLD, new()], PROGRESSING, "RollingOut"),
        (make_deployment("r2", replicas=2, updated=1), [OLD, new(ready=True)], PROGRESSING, "RollingOut"),
        (make_deployment("r2", available=0), [new()], PROGRESSING, "RollingOut"),
        (make_deployment("r2"), [new(ready=True)], COMPLETE, "RolloutComplete"),
        (make_deployment("r2"), [new(ready=True), make_pod("o", deleting=True)], COMPLETE, "RolloutComplete"),
        (MOVING, [OLD, new(ended(78, message=REFUSAL))], FAILED, "PreflightRefused"),
        (MOVING, [OLD, new(crashed(78, times=1, message=REFUSAL))], FAILED, "PreflightRefused"),
        (MOVING, [OLD, new(ended(1))], PROGRESSING, "RollingOut"),
        (MOVING, [OLD, new(crashed(1, times=2))], PROGRESSING, "CrashLoopBackOff"),
        (MOVING, [OLD, new(crashed(1, times=3))], FAILED, "CrashLoop"),
        (MOVING, [OLD, new(running(3, termination(1)))], FAILED, "CrashLoop"),
        (MOVING, [OLD, new(running(3, termination(1)), ready=True)], PROGRESSING, "RollingOut"),
        (MOVING, [OLD, new(crashed(70, times=2, message=DIED))], PROGRESSING, "CrashLoopBackOff"),
        (MOVING, [OLD, new(crashed(70, times=3, message=DIED))], FAILED, "CrashLoop"),
        (MOVING, [OLD, new(crashed(137, times=3, reason="OOMKilled"))], FAILED, "OutOfMemory"),
        (MOVING, [OLD, new(crashed(78, times=1), deleting=True)], PROGRESSING, "RollingOut"),
        (MOVING, [make_pod("old", ready=False, engine=crashed(1, times=9)), new()], PROGRESSING, "RollingOut"),
        (MOVING, [OLD, new(waiting("ErrImagePull"))], PROGRESSING, "ImagePull"),
        (MOVING, [OLD, new(waiting("ImagePullBackOff"))], PROGRESSING, "ImagePull"),
        (MOVING, [OLD, new(waiting("CreateContainerConfigError"))], PROGRESSING, "CreateContainerConfigError"),
        (MOVING, [OLD, new(waiting("PodInitializing"))], PROGRESSING, "RollingOut"),
        (MOVING, [OLD, new(unscheduled="no node")], PROGRESSING, "Unschedulable"),
    ],
)
def test_a_rollout_is_read_from_the_deployment_and_the_pods_of_its_revision(
    deployment: Body | None, pods: list[Body], progress: Progress, reason: str
) -> None:
    """Pods of other revisions, pods that leave, and first crashes prove nothing against the new one."""
    rollout = seen(deployment, *pods)
    assert (rollout.progress, rollout.reason) == (progress, reason)


DRY = json.dumps({"reason": "OutOfMemory", "message": "the engine did not start: CUDA out of memory."})


STARTS = {
    "killed": (
        new(crashed(137, times=1, reason="OOMKilled")),
        "pod new ended 1 times, last with exit code 137 (OOMKilled)",
    ),
    "it said so": (
        new(crashed(1, times=2, message=DRY)),
        "pod new ended 2 times, last with exit code 1: the engine did not start: CUDA out of memory.",
    ),
    "killed, and it starts again": (
        new(running(1, termination(137, "OOMKilled"))),
        "pod new ended 1 times, last with exit code 137 (OOMKilled)",
    ),
    "it is up": (new(running(1, termination(137, "OOMKilled")), ready=True), ""),
    "crashed": (new(crashed(1, times=1, message="RuntimeError: x")), ""),
    "ended well": (new(ended(0, message="CUDA out of memory")), ""),
    "leaves": (new(ended(137, reason="OOMKilled"), deleting=True), ""),
    "of another": (make_pod("old", ready=False, engine=crashed(137, times=9, reason="OOMKilled")), ""),
    "-": (new(), ""),
}


@pytest.mark.parametrize(("pod", "words"), STARTS.values(), ids=STARTS)
def test_a_start_that_runs_out_of_memory_is_reported_at_its_first_end(pod: Body, words: str) -> None:
    """A crash for another reason counts from the third time."""
    assert seen(MOVING, OLD, pod).out_of_memory == words


@pytest.mark.parametrize(
    ("pods", "serving"),
    [([], 0), ([OLD], 1), ([OLD, new(ready=True)], 2), ([OLD, new()], 1), ([make_pod(deleting=True)], 0)],
)
def test_every_pod_that_answers_serves_whatever_its_revision(pods: list[Body], serving: int) -> None:
    """While new pods crash, the old ones keep answering, and Ready shows it."""
    assert seen(MOVING, *pods).serving == serving


@pytest.mark.parametrize(
    ("pod", "message"),
    [
        (new(), "0 of 1 pods of revision r2 are ready"),
        (new(waiting("ContainerCreating")), "0 of 1 pods of revision r2 are ready"),
        (
            new(waiting("ErrImagePull", "localhost/x:1: not found")),
            "0 of 1 pods of revision r2 are ready; pod new waits: ErrImagePull localhost/x:1: not found",
        ),
        (
            new(unscheduled="0/1 nodes are available: 1 Insufficient memory."),
            "0 of 1 pods of revision r2 are ready; pod new is not scheduled: "
            "0/1 nodes are available: 1 Insufficient memory.",
        ),
    ],
)
def test_a_rollout_that_waits_has_the_reason(pod: Body, message: str) -> None:
    """The message of the kubelet or the scheduler."""
    assert seen(MOVING, OLD, pod).message == message


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        (ended(78, message=REFUSAL + "\n"), "DraftMissing: /mnt/draft/model: no such folder"),
        (
            crashed(1, times=4, message="loading\nRuntimeError: CUDA error\n"),
            "pod new ended 4 times, last with exit code 1: RuntimeError: CUDA error",
        ),
        (crashed(139, times=3), "pod new ended 3 times, last with exit code 139"),
        (
            crashed(70, times=3, message=DIED + "\n"),
            "pod new ended 3 times, last with exit code 70: the engine died while serving: RuntimeError: x",
        ),
        (
            crashed(70, times=3, message='{"reason": "X"}'),
            'pod new ended 3 times, last with exit code 70: {"reason": "X"}',
        ),
        (crashed(1, times=3, message="[1]"), "pod new ended 3 times, last with exit code 1: [1]"),
    ],
)
def test_a_failure_has_the_message_of_the_pod(engine: Body, message: str) -> None:
    """The preflight's message, the runtime's about a dead engine, or the last line of the log."""
    assert seen(MOVING, new(engine)).message == message


def test_a_pod_that_waits_may_wait_until_the_deadline() -> None:
    """An image of 20 GB takes its time. After the deadline the rollout has failed, and the
    message shows what it waited for.
    """
    pod = new(waiting("ImagePullBackOff", "back-off"))
    assert seen(MOVING, pod, waited=60, deadline=60).progress is PROGRESSING
    late = seen(MOVING, pod, waited=61, deadline=60)
    assert (late.progress, late.reason) == (FAILED, "DeadlineExceeded")
    assert late.message == (
        "no pod became ready for 61 s; the deadline is 60 s; pod new waits: ImagePullBackOff back-off"
    )


LATE, SOON, AHEAD = "2026-11-20T11:58:00Z", "2026-11-20T11:59:50Z", "2026-11-20T13:00:00Z"
"""When an engine started: longer ago than the deadline, a moment ago, and in an hour, by the node's clock."""
MISSING = "An error occurred (404) when calling the GetObject operation: Not Found"
INIT = waiting("PodInitializing")


def staging(download: Body, engine: Body = INIT) -> Body:
    """A pod of r2 whose init container has this status."""
    return new(engine, download=download, mounted=True)


LATE_ROLLOUTS = {
    "it downloads": ([staging(running())], BLOCKED, "Staging"),
    "it downloads again": ([staging(running(1, termination(1, message=MISSING)))], BLOCKED, "Staging"),
    "the image that downloads is pulled": ([staging(waiting("PodInitializing"))], BLOCKED, "Staging"),
    "the engine's image is pulled": ([new(waiting("ContainerCreating"), mounted=True)], BLOCKED, "Staging"),
    "its engine has just started": ([new(running(since=SOON), mounted=True)], PROGRESSING, "RollingOut"),
    "its engine has had its time": ([new(running(since=LATE), mounted=True)], FAILED, "DeadlineExceeded"),
    "one downloads, one has just started": ([staging(running()), new(running(since=SOON))], PROGRESSING, "RollingOut"),
    "one downloads, one has had its time": ([staging(running()), new(running(since=LATE))], FAILED, "DeadlineExceeded"),
    "one of two has had its time": ([new(running(since=SOON)), new(running(since=LATE))], FAILED, "DeadlineExceeded"),
    "an engine that starts again has no new time": (
        [new(running(1, termination(1, since=LATE), since=SOON))],
        FAILED,
        "DeadlineExceeded",
    ),
    "one serves, one downloads": ([new(running(since=LATE), ready=True), staging(running())], BLOCKED, "Staging"),
    "the node's clock is ahead": ([new(running(since=AHEAD))], PROGRESSING, "RollingOut"),
    "its volumes are not mounted": ([new(waiting("ContainerCreating"))], FAILED, "DeadlineExceeded"),
    "the image that downloads does not come": ([staging(waiting("ImagePullBackOff"))], FAILED, "DeadlineExceeded"),
    "the download fails": ([staging(crashed(1, times=2))], FAILED, "DeadlineExceeded"),
    "the engine's image does not come": ([new(waiting("ImagePullBackOff"), mounted=True)], FAILED, "DeadlineExceeded"),
    "the engine has ended": ([new(ended(1), mounted=True)], FAILED, "DeadlineExceeded"),
}


@pytest.mark.parametrize(("pods", "progress", "reason"), LATE_ROLLOUTS.values(), ids=LATE_ROLLOUTS)
def test_a_deadline_is_the_engines(pods: list[Body], progress: Progress, reason: str) -> None:
    """Slow weights and images show nothing about a draft that was never loaded. A failure may be the draft's."""
    late = seen(make_deployment("r2", replicas=2, updated=2, available=1), *pods, waited=3600)
    assert (late.progress, late.reason) == (progress, reason)


@pytest.mark.parametrize(
    ("pod", "words"),
    [
        (staging(running()), "container storage-initializer is running"),
        (staging(waiting("PodInitializing")), "pod new pulls its images"),
    ],
)
def test_what_takes_longer_than_the_deadline_is_shown(pod: Body, words: str) -> None:
    """The user may wait, or inspect the container or pod that the message names."""
    late = seen(MOVING, OLD, pod, waited=61)
    assert late.message == f"no pod became ready for 61 s; the deadline is 60 s; {words}"


@pytest.mark.parametrize("pods", [[], [OLD]])
def test_without_a_deployment_there_is_nothing_to_blame(pods: list[Body]) -> None:
    """KServe is away or knows no such runtime: after the deadline the message shows it, and it
    does not count against the draft.
    """
    late = seen(None, *pods, waited=61, deadline=60)
    assert (late.progress, late.reason, late.serving) == (BLOCKED, "DeploymentMissing", len(pods))
    assert late.message.startswith(
        "KServe has not created the Deployment after 61 s: check whether the KServe controller runs"
    )


def test_a_rollout_that_is_done_cannot_fail_any_more() -> None:
    """Not by the deadline, and not by old restarts."""
    assert seen(make_deployment("r2"), new(ready=True), waited=9999).progress is COMPLETE


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (REFUSAL, "DraftMissing: /mnt/draft/model: no such folder"),
        ("no json at all", "no json at all"),
        ('{"reason": "X"}', '{"reason": "X"}'),
        ("[]", "[]"),
        ("", "the preflight rejected the start without a message"),
        ("x" * 500, "x" * 400),
        (json.dumps({"reason": "R", "message": "x" * 500}), "R: " + "x" * 397),
    ],
)
def test_a_refusal_is_read_whatever_was_left(text: str, words: str) -> None:
    """The termination message may be the log's tail instead of the JSON line; the status is kept small."""
    assert refusal_words(text) == words


FULL = "0/3 nodes are available: 1 node(s) had untolerated taint, 2 Insufficient nvidia.com/gpu."
SINCE, AT = "2026-11-20T10:00:00Z", from_time("2026-11-20T10:00:00Z")
GATED = "Scheduling is blocked due to non-empty scheduling gates"
QUOTA = 'pods "new" is forbidden: exceeded quota: gpus, requested: pods=1, used: pods=1, limited: pods=1'
POLICY = 'pods "new" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true'
WEBHOOK = 'admission webhook "images.example.com" denied the request: not from our registry'


@pytest.mark.parametrize(
    ("deployment", "pod", "reason", "frees"),
    [
        (MOVING, new(unscheduled=FULL, since=SINCE), "Unschedulable", True),
        (MOVING, new(unscheduled="0/1 nodes are available: 1 Too many pods.", since=SINCE), "Unschedulable", True),
        (
            MOVING,
            new(unscheduled="1 node(s) didn't have free ports for the requested pod ports.", since=SINCE),
            "Unschedulable",
            True,
        ),
        (MOVING, new(unscheduled=GATED, since=SINCE), "SchedulingGated", True),
        (make_deployment("r2", updated=0, refused=QUOTA), None, "QuotaExceeded", True),
        (make_deployment("r2", updated=0, refused=POLICY), None, "PodRefused", False),
        (make_deployment("r2", updated=0, refused=WEBHOOK), None, "PodRefused", False),
    ],
)
def test_an_obstacle_to_new_pods_is_shown_with_the_message_of_the_cluster(
    deployment: Body, pod: Body | None, reason: str, frees: bool
) -> None:
    """And whether the end of an old pod may help: not if the new pod is rejected for its own spec."""
    view = seen(deployment, OLD, *([pod] if pod else []))
    assert view.obstacle is not None
    assert (view.obstacle.reason, view.obstacle.since, view.obstacle.frees) == (reason, AT, frees)
    assert (view.reason, view.progress, view.crowded) == (reason, PROGRESSING, True)
    assert view.obstacle.words in view.message
    late = seen(deployment, OLD, *([pod] if pod else []), waited=61)
    assert (late.progress, late.reason) == (BLOCKED, reason), "it says nothing about what the pods are to run"


NO_OBSTACLES = {
    "a taint, which no replacing would mend": (
        MOVING,
        [OLD, new(unscheduled="0/1 nodes are available: 1 node(s) had untolerated taint.", since=SINCE)],
    ),
    "a claim, neither": (MOVING, [OLD, new(unscheduled='persistentvolumeclaim "x" not found', since=SINCE)]),
    "nobody says since when": (MOVING, [OLD, new(unscheduled=FULL)]),
    "it is scheduled": (MOVING, [OLD, new(since=SINCE)]),
    "it is leaving itself": (MOVING, [OLD, new(unscheduled=FULL, since=SINCE, deleting=True)]),
    "the pods before were refused": (make_deployment("r1", refused=QUOTA), [OLD]),
    "the Deployment was just changed": (make_deployment("r2", seen=False, refused=QUOTA), [OLD]),
}


@pytest.mark.parametrize(("deployment", "pods"), NO_OBSTACLES.values(), ids=NO_OBSTACLES)
def test_a_cause_in_the_pod_or_in_the_past_is_not_an_obstacle(deployment: Body, pods: list[Body]) -> None:
    """After the deadline it counts against the pods."""
    assert seen(deployment, *pods).obstacle is None
    assert seen(deployment, *pods, waited=61).progress is FAILED


@pytest.mark.parametrize(
    "pods",
    [
        [new(unscheduled=FULL, since=SINCE)],
        [make_pod("old", deleting=True), new(unscheduled=FULL, since=SINCE)],
        [OLD, new(unscheduled=FULL, since=SINCE), make_pod("other", revision="r2", ready=False)],
    ],
    ids=["no old pod is in the way", "the old pod is leaving", "another new one is on its way"],
)
def test_no_old_pod_need_go_for_a_new_one(pods: list[Body]) -> None:
    """The status still shows what blocks the new pod."""
    view = seen(MOVING, *pods)
    assert view.obstacle is not None
    assert not view.crowded


def test_a_rollout_that_is_over_has_no_obstacle() -> None:
    """The controller takes the condition back a moment later."""
    assert seen(make_deployment("r2", refused=QUOTA), new(ready=True)).obstacle is None


@pytest.mark.parametrize("name", ["nvidia.com/gpu", "huawei.com/Ascend910", "nvidia.com/mig-1g.10gb"])
def test_a_device_that_no_node_has_free_is_shown_with_the_fix(name: str) -> None:
    """The scheduler's message is the same for no device and for no free device: our message names both."""
    words = f"0/3 nodes are available: 3 Insufficient {name}."
    found = seen(make_deployment("r2", available=0), make_pod("new", revision="r2", unscheduled=words))
    assert found.reason == "Unschedulable"
    assert f"no node has a free {name}: its device plugin must advertise it" in found.message
    assert "spec.engine.accelerator" in found.message


def test_memory_that_no_node_has_is_not_a_device() -> None:
    """The message does not mention device plugins."""
    found = seen(
        make_deployment("r2", available=0), make_pod("new", revision="r2", unscheduled="0/3: 3 Insufficient memory.")
    )
    assert "device plugin" not in found.message


UP = new(ready=True)
GROWING = make_deployment("r2", replicas=3, updated=3, available=1, total=3)


@pytest.mark.parametrize(
    ("deployment", "least", "progress"),
    [
        (GROWING, None, PROGRESSING),
        (GROWING, 1, COMPLETE),
        (GROWING, 0, COMPLETE),
        (GROWING, 2, PROGRESSING),
        (make_deployment("r2", replicas=3, updated=1, available=1, total=1), 1, COMPLETE),
        (make_deployment("r2", replicas=3, updated=1, available=2, total=2), 1, PROGRESSING),
        (make_deployment("r2", replicas=1, updated=1, available=0, total=1), 1, PROGRESSING),
        (make_deployment("r2", replicas=1, updated=1, available=1, total=1), 3, COMPLETE),
    ],
)
def test_of_an_autoscalers_pods_the_least_number_completes_a_rollout(
    deployment: Body, least: int | None, progress: Progress
) -> None:
    """None of before may be left; what it asks for beyond may find no room for as long as the load lasts."""
    assert seen(deployment, UP, least=least).progress is progress


def test_a_service_that_is_scaled_to_zero_has_not_completed_and_has_not_failed() -> None:
    """However long it has been: there is no pod that could show anything."""
    none = make_deployment("r2", replicas=0, updated=0, available=0, total=0)
    view = seen(none, waited=10_000, least=0)
    assert (view.progress, view.reason) == (PROGRESSING, "ScaledToZero")
