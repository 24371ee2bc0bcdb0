"""`specdec` without a cluster, a name or a permission: it prints an error, against a real API server."""

import pathlib
from typing import Any

import pytest
import yaml

from tests.wire.api import SIS, Api
from tests.wire.command import Command
from tests.wire.install import grant, make_account, operator_kubeconfig
from tests.wire.world import NAME, World, sis


@pytest.mark.parametrize("command", ["status", "watch", "rollback", "retry", "hold", "release"])
async def test_a_name_that_is_not_there_brings_those_that_are(command: str, world: World, specdec: Command) -> None:
    """With the nearest one first."""
    await world.apply(sis())
    said = await specdec(command, "lama")
    assert (said.code, said.out) == (1, "")
    missing = f"error: namespace {world.namespace} has no service lama"
    assert said.err == f"{missing}; did you mean {NAME}? existing services: {NAME}\n"


async def test_a_namespace_without_any_brings_those_of_other_namespaces(world: World, kubeconfig: pathlib.Path) -> None:
    """The usual slip is a forgotten -n."""
    await world.apply(sis())
    said = await Command(kubeconfig, "default")("status", NAME)
    assert said.code == 1
    assert f"{world.namespace}/{NAME}" in said.err or "more" in said.err


async def _as_somebody(api: Api, namespace: str, admin: pathlib.Path, target: pathlib.Path, *verbs: str) -> Command:
    """A user of the namespace who has the permissions `verbs` for sis."""
    await make_account(api, "somebody", namespace)
    if verbs:
        rule = {"apiGroups": ["serving.specdec.io"], "resources": [SIS[1]], "verbs": list(verbs)}
        await grant(api, "somebody", [rule], within=namespace, of=namespace)
    return Command(await operator_kubeconfig(api, admin, target, account="somebody", namespace=namespace), namespace)


def _changed(admin: pathlib.Path, target: pathlib.Path, *, token: str = "", path: str = "") -> pathlib.Path:
    """The administrator's kubeconfig with another user, or another address."""
    content: dict[str, Any] = yaml.safe_load(admin.read_text())
    if token:
        content["users"] = [{"name": content["users"][0]["name"], "user": {"token": token}}]
    content["clusters"][0]["cluster"]["server"] += path
    target.write_text(yaml.safe_dump(content))
    return target


@pytest.mark.parametrize(
    ("verbs", "words", "verb"),
    [
        ((), ("status", NAME), "get"),
        ((), ("status",), "list"),
        (("get", "list"), ("rollback", NAME), "patch"),
        (("get",), ("hold", NAME), "patch"),
        (("get",), ("status", "-A"), "list"),
    ],
)
async def test_a_forbidden_request_is_reported_with_verb_and_resource(
    verbs: tuple[str, ...],
    words: tuple[str, ...],
    verb: str,
    world: World,
    kubeconfig: pathlib.Path,
    tmp_path: pathlib.Path,
) -> None:
    """So that a user knows what to ask for; and as whom it was asked."""
    await world.apply(sis())
    somebody = await _as_somebody(world.api, world.namespace, kubeconfig, tmp_path / "kubeconfig", *verbs)
    said = await somebody(*words)
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith(
        f"error: you have no permission to {verb} speculativeinferenceservices.serving.specdec.io in "
    )
    assert f"verbs [{verb}]" in said.err
    assert f"system:serviceaccount:{world.namespace}:somebody" in said.err


async def test_a_user_who_may_get_and_not_list_learns_that_there_is_none(
    world: World, kubeconfig: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """The error does not suggest other names, because this user may not read them."""
    await world.apply(sis())
    somebody = await _as_somebody(world.api, world.namespace, kubeconfig, tmp_path / "kubeconfig", "get")
    assert (await somebody("status", "lama")).err == f"error: namespace {world.namespace} has no service lama\n"


async def test_a_refused_token_and_a_missing_crd_have_different_errors(
    world: World, kubeconfig: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """Each has its own way out. The second is played by a path at which the API server knows nothing."""
    stranger = Command(_changed(kubeconfig, tmp_path / "1", token="nobody's"), world.namespace)  # noqa: S106
    assert "does not accept your credentials; log in again" in (await stranger("status", NAME)).err
    bare = Command(_changed(kubeconfig, tmp_path / "2", path="/nothing/here"), world.namespace)
    said = await bare("status", NAME)
    assert said.code == 1
    assert "its CRD is not installed; run kubectl apply -f crds/" in said.err
