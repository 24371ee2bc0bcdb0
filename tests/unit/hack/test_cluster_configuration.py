"""hack.cluster: the flags of each program, and that the flags of different programs agree."""

import ipaddress
import pathlib
import shutil
import stat
import tomllib
from typing import Any

import pytest
import yaml
from hack.cluster import binaries, netns, node, pki, record, shell, versions
from hack.cluster.errors import ClusterError
from hack.cluster.paths import ClusterLayout, cache, layout
from hack.cluster.record import ClusterDriver, Record

LAYOUT = ClusterLayout(root=pathlib.Path("/cache/cluster"))
PROGRAMS = {name: pathlib.Path("/bin") / name for name in binaries.PROGRAMS}


def flags(argv: list[str]) -> dict[str, str]:
    return dict(word.removeprefix("--").split("=", 1) for word in argv[1:] if "=" in word)


def test_services_get_a_range_that_can_hold_thousands_and_has_a_route() -> None:
    """The range cannot be widened later, and without a default route nothing would reach it."""
    chosen = flags(node.command("kube-apiserver", LAYOUT, PROGRAMS))["service-cluster-ip-range"]
    services = ipaddress.ip_network(chosen)
    assert services.num_addresses >= 4096
    assert ipaddress.ip_address(netns.API_SERVICE) == services[1]
    assert ["ip", "route", "add", chosen, "dev", "lo", "src", netns.NODE] in netns.setup_commands()


def test_nothing_inside_has_a_way_out() -> None:
    assert not [command for command in netns.setup_commands() if "default" in command or "veth" in command]
    assert node.configuration("cni", LAYOUT)["plugins"][0]["ipMasq"] is False


def test_ranges_do_not_overlap() -> None:
    pods, services = ipaddress.ip_network(netns.PODS), ipaddress.ip_network(netns.SERVICES)
    assert not pods.overlaps(services)
    assert ipaddress.ip_address(netns.NODE) not in pods


def runtime(filesystem: str = "ext4") -> dict[str, Any]:
    return tomllib.loads(node.containerd_config(LAYOUT, PROGRAMS, filesystem))


def test_further_apis_trust_only_the_front_proxy() -> None:
    """With one authority for both, each client certificate of the cluster could act as any user."""
    told = flags(node.command("kube-apiserver", LAYOUT, PROGRAMS))
    assert told["requestheader-client-ca-file"] != told["client-ca-file"]
    assert pki.FRONT_PROXY[0] == f"/CN={told['requestheader-allowed-names']}"


@pytest.mark.parametrize(("filesystem", "snapshotter"), [("ext4", "overlayfs"), ("overlay", "native")])
def test_an_overlay_is_not_laid_on_an_overlay(filesystem: str, snapshotter: str) -> None:
    """And what is imported is unpacked where pods look for it, not once more elsewhere."""
    told = runtime(filesystem)["plugins"]
    assert told["io.containerd.cri.v1.images"]["snapshotter"] == snapshotter
    unpacked = told["io.containerd.transfer.v1.local"]["unpack_config"]
    assert [place["snapshotter"] for place in unpacked] == [snapshotter]


def test_images_stay_and_everything_else_goes_with_the_run_folder() -> None:
    told = runtime()
    assert pathlib.Path(told["root"]) == LAYOUT.images
    assert LAYOUT.run not in LAYOUT.images.parents
    kubelet = node.configuration("kubelet", LAYOUT)
    homes = [told["state"], told["grpc"]["address"], kubelet["podLogsDir"], kubelet["volumePluginDir"]]
    homes.append(flags(node.command("kubelet", LAYOUT, PROGRAMS))["root-dir"])
    assert all(LAYOUT.run in pathlib.Path(str(home)).parents for home in homes)
    assert told["plugins"]["io.containerd.nri.v1.nri"]["disable"] is True  # its socket lies in a folder of the machine


def test_two_caches_are_two_clusters(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    """Removing one must not end the other's pods, which are found by this name."""
    names = set()
    for place in ("a", "b"):
        monkeypatch.setenv("SPECDEC_CACHE", str(tmp_path / place))
        names.add(layout().name)
    assert len(names) == 2


def test_the_cache_is_named_by_its_real_path(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    """The kernel lists mounts by real path; below a symlink they would not be found again."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setenv("SPECDEC_CACHE", str(tmp_path / "link"))
    assert cache() == (tmp_path / "real").resolve()


def test_a_kubeconfig_carries_its_keys_and_is_private(tmp_path: pathlib.Path) -> None:
    for name in ("ca.crt", "admin.crt", "admin.key"):
        (tmp_path / name).write_text(name)
    target = tmp_path / "kubeconfig"
    pki.write_kubeconfig(target, server="https://127.0.0.1:1", pki=tmp_path, who="admin")
    told = yaml.safe_load(target.read_text())
    assert told["users"][0]["user"]["client-key-data"] == "YWRtaW4ua2V5"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_certificates_pass_the_strict_check_that_newer_pythons_make(tmp_path: pathlib.Path) -> None:
    pki.create(tmp_path)
    authority = ["-x509_strict", "-CAfile", str(tmp_path / "ca.crt")]
    for name in pki.CERTIFICATES:
        shell.run(["openssl", "verify", *authority, str(tmp_path / f"{name}.crt")])


def test_a_record_is_read_back_and_a_torn_one_is_ignored(tmp_path: pathlib.Path) -> None:
    place = ClusterLayout(root=tmp_path)
    place.run.mkdir()
    known = Record(driver=ClusterDriver.NODE, pins="p", kserve="0.20.0")
    record.write(place, known)
    assert record.read(place) == known
    place.record.write_text('{"driver": "node"')
    assert record.read(place) is None


def test_the_modules_pin_the_versions_that_are_announced() -> None:
    runtime_pins = (binaries.CONTAINERD.root / "go.mod").read_text()
    assert f"github.com/containerd/containerd/v2 v{versions.CONTAINERD} " in runtime_pins
    text = (binaries.KUBERNETES.root / "go.mod").read_text()
    assert f"k8s.io/kubernetes v{versions.KUBERNETES} " in text
    assert f"go.etcd.io/etcd/server/v3 v{versions.ETCD} " in text
    staging = versions.KUBERNETES.replace("1.", "0.", 1)
    replaced = [line.split(" => ")[1] for line in text.splitlines() if " => " in line]
    assert replaced
    assert all(line.endswith(f" v{staging}") for line in replaced)


@pytest.mark.parametrize("part", ["go.mod", "go.sum", "more/main.go"])
def test_other_pins_or_sources_are_another_build(tmp_path: pathlib.Path, part: str) -> None:
    (tmp_path / "more").mkdir()
    for name in ("go.mod", "go.sum", "more/main.go"):
        (tmp_path / name).write_text("before")
    module = binaries.Module(root=tmp_path, packages={}, flags="-s")
    before = module.fingerprint()
    (tmp_path / part).write_text("after")
    assert module.fingerprint() != before


def test_an_unknown_program_is_named_with_the_known_ones() -> None:
    with pytest.raises(ClusterError, match=r"no recipe for kube-thing; there is one for etcd, kube-apiserver"):
        binaries.ensure("kube-thing")


@pytest.mark.parametrize(
    ("text", "version"),
    [("go1.26.8", (1, 26)), ("go1.24rc1", (1, 24)), ("go1.24-custom", (1, 24)), ("devel", None), ("", None)],
)
def test_go_prints_its_version_in_several_ways(text: str, version: tuple[int, int] | None) -> None:
    assert binaries.go_version(text) == version


@pytest.mark.parametrize(
    ("answer", "words"),
    [("echo go1.19.8", "`go` says go1.19.8"), ("echo broken >&2; exit 1", "`go` says broken")],
)
def test_an_old_go_is_named_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path, answer: str, words: str
) -> None:
    program = tmp_path / "go"
    program.write_text(f"#!/bin/sh\n{answer}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(ClusterError, match=words) as failure:
        binaries.require_go()
    assert "Go >= 1.24" in str(failure.value)


def test_a_missing_go_is_named_in_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ClusterError, match=r"needs Go >= 1\.24 on PATH: no `go` was found"):
        binaries.require_go()
