"""hack.cluster: what is found on the machine (mounts, cgroups, engines) and what is carried into the namespace."""

import asyncio
import json
import os
import pathlib
import subprocess

import pytest
from hack.cluster import cgroups, containers, forward, shell, teardown
from hack.cluster.errors import ClusterError
from hack.cluster.paths import ClusterLayout

MOUNTINFO = """\
21 1 254:0 / / rw shared:1 - ext4 /dev/vda rw
30 21 0:20 / /c/run/netns rw - nsfs nsfs rw
31 21 0:21 / /c/run/kubelet/pods/a rw - tmpfs tmpfs rw
32 31 254:0 /models /c/run/kubelet/pods/a/with\\040space rw - ext4 /dev/vda rw
33 21 0:22 / /c/running rw - tmpfs tmpfs rw
34 21 0:23 / /other/c/run rw - tmpfs tmpfs rw
"""


def test_the_images_of_a_registry_are_forgotten_by_name_and_by_id() -> None:
    """Another image of the same name elsewhere stays, and so does the name that others have for the same content."""
    kind = "application/vnd.oci.image.index.v1+json"
    rows = [
        f"127.0.0.1:5000/team/a:1@sha256:aa {kind} sha256:aa 9 MiB linux/amd64 -",
        f"localhost/a:1 {kind} sha256:aa 9 MiB linux/amd64 -",
        f"localhost/b:1 {kind} sha256:bb 9 MiB linux/amd64 -",
        f"sha256:01 {kind} sha256:aa 9 MiB linux/amd64 -",
        f"sha256:02 {kind} sha256:bb 9 MiB linux/amd64 -",
    ]
    assert containers.images_of("127.0.0.1:5000", rows) == ["127.0.0.1:5000/team/a:1@sha256:aa", "sha256:01"]
    assert containers.images_of("127.0.0.1:50", rows) == []


def test_mounts_are_undone_deepest_first_and_neighbours_stay() -> None:
    assert teardown.mounts(pathlib.Path("/c/run"), MOUNTINFO) == [
        pathlib.Path("/c/run/kubelet/pods/a/with space"),
        pathlib.Path("/c/run/kubelet/pods/a"),
        pathlib.Path("/c/run/netns"),
    ]


@pytest.mark.parametrize(
    ("path", "kind"), [("/c/run/kubelet/pods/a/x", "tmpfs"), ("/c/other", "ext4"), ("/c/running", "tmpfs")]
)
def test_the_innermost_mount_decides_about_the_file_system(path: str, kind: str) -> None:
    assert teardown.filesystem(pathlib.Path(path), MOUNTINFO) == kind


@pytest.fixture
def mounted(tmp_path: pathlib.Path) -> ClusterLayout:
    models, place = tmp_path / "models", ClusterLayout(root=tmp_path / "cluster")
    (models / "target").mkdir(parents=True)
    point = place.run / "kubelet" / "models"
    point.mkdir(parents=True)
    if os.geteuid() != 0 or subprocess.run(["mount", "--bind", models, point], check=False).returncode != 0:
        pytest.skip("mounting needs root")
    return place


def test_a_folder_with_a_mount_in_it_is_not_removed(mounted: ClusterLayout, tmp_path: pathlib.Path) -> None:
    """Otherwise the user's models would be deleted through the mount."""
    with pytest.raises(ClusterError, match="still mounted"):
        teardown.remove_run(mounted)
    assert (tmp_path / "models" / "target").is_dir()
    teardown.unmount(mounted.run)
    teardown.remove_run(mounted)
    assert not mounted.run.exists()
    assert (tmp_path / "models" / "target").is_dir()


def test_the_socket_of_a_killed_shim_is_removed(tmp_path: pathlib.Path) -> None:
    """It is in a folder of the machine, which no other program cleans."""
    place, socket = ClusterLayout(root=tmp_path / "cluster"), tmp_path / "shim.sock"
    bundle = place.run / "containerd" / "io.containerd.runtime.v2.task" / "k8s.io" / "pod"
    bundle.mkdir(parents=True)
    (bundle / "bootstrap.json").write_text(json.dumps({"version": 3, "address": f"unix://{socket}"}))
    socket.touch()
    teardown.forget_traces(place)
    assert not socket.exists()


@pytest.mark.parametrize(
    ("mounted_trees", "found"),
    [
        ("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n", ["/sys/fs/cgroup"]),
        (
            "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n",
            ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/unified"],
        ),
        ("tmpfs /sys/fs/cgroup tmpfs rw 0 0\n", []),
    ],
)
def test_both_kinds_of_cgroup_tree_are_found(mounted_trees: str, found: list[str]) -> None:
    assert [str(tree) for tree in cgroups.hierarchies(mounted_trees)] == found


def fake_program(folder: pathlib.Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def test_a_client_without_its_service_does_not_count_as_an_engine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shell.container_engine() is None
    fake_program(tmp_path, "docker", "exit 1")
    assert shell.container_engine() is None
    fake_program(tmp_path, "podman", "exit 0")
    assert shell.container_engine() == "podman"


@pytest.mark.parametrize(
    ("source", "sink", "words"),
    [
        (["sh", "-c", "echo no such image >&2; exit 3"], ["cat"], "codes 3 and 0: no such image"),
        (["yes"], ["sh", "-c", "echo disk full >&2; exit 5"], "and 5: disk full"),
    ],
)
def test_a_pipe_fails_when_either_end_does(source: list[str], sink: list[str], words: str) -> None:
    """The second case would hang for ever if the producer did not learn that its reader has ended."""
    with pytest.raises(ClusterError, match=words):
        shell.pipe(source, sink, timeout=10)


@pytest.mark.parametrize(
    ("argv", "seconds", "code"),
    [(["true"], 30.0, 0), (["false"], 30.0, 1), (["no-such-program-here"], 30.0, 127), (["sleep", "60"], 0.2, 124)],
)
def test_a_command_always_answers(argv: list[str], seconds: float, code: int) -> None:
    assert shell.ask(argv, timeout=seconds).code == code


async def test_the_forwarder_closes_what_it_cannot_carry() -> None:
    """A client sees a closed connection, as at a closed port, and does not wait for its own timeout."""
    with forward.listen(0) as closed:
        port = closed.getsockname()[1]
    assert await asyncio.wait_for(_through_forwarder(port, b"hello"), 30) == b""


async def _through_forwarder(port: int, sent: bytes) -> bytes:
    listener = forward.listen(0)
    listener.setblocking(False)
    task = asyncio.create_task(forward.serve(listener, host="127.0.0.1", port=port))
    reader, writer = await asyncio.open_connection(*listener.getsockname())
    writer.write(sent)
    writer.write_eof()
    try:
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def test_a_taken_port_is_replaced_by_a_free_one() -> None:
    with forward.listen(0) as first, forward.listen(first.getsockname()[1]) as second:
        assert first.getsockname() != second.getsockname()
