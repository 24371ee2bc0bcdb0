"""hack.cluster: the commands for kind, and the volumes."""

import pathlib

from hack.cluster import kind, versions, volumes

KUBECONFIG = pathlib.Path("/c/run/kubeconfig")


def test_kind_sees_the_cache_under_its_own_path() -> None:
    """Then a hostPath volume means the same folder on kind and on the single node."""
    node = kind.config(pathlib.Path("/home/me/cache"))["nodes"][0]
    mount = {"hostPath": "/home/me/cache", "containerPath": "/home/me/cache", "readOnly": True}
    assert node["extraMounts"] == [mount]
    assert node["image"] == versions.KIND_NODE_IMAGE


def test_kind_gets_the_kubeconfig_and_never_touches_the_users_own() -> None:
    program = pathlib.Path("/b/kind")
    for command in (kind.create(program, pathlib.Path("/c/kind.yaml"), KUBECONFIG), kind.delete(program, KUBECONFIG)):
        assert f"--kubeconfig={KUBECONFIG}" in command
        assert f"--name={kind.NAME}" in command


def test_charts_are_installed_in_order_and_pinned() -> None:
    commands = kind.charts(pathlib.Path("/b/helm"), KUBECONFIG)
    assert [command[3] for command in commands] == ["cert-manager", "kserve-crd", "kserve-resources"]
    for command in commands:
        assert command[1:3] == ["upgrade", "--install"]
        assert "--wait" in command
        assert f"--kubeconfig={KUBECONFIG}" in command
    assert f"--version=v{versions.KSERVE}" in commands[1]


def test_kserve_on_kind_is_in_standard_mode_without_an_ingress() -> None:
    settings = kind.charts(pathlib.Path("/b/helm"), KUBECONFIG)[-1]
    assert "--set=kserve.controller.deploymentMode=Standard" in settings
    assert "--set=kserve.controller.gateway.disableIngressCreation=true" in settings


def test_another_folder_or_namespace_is_another_volume() -> None:
    """A volume's folder cannot be changed, and a volume serves one PVC only."""
    folders, namespaces = ("/c/a", "/c/b"), ("one", "two")
    names = {volumes.volume_name(pathlib.Path(folder), place) for folder in folders for place in namespaces}
    assert len(names) == 4
