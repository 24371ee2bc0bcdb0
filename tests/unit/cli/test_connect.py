"""How `specdec` connects, and its message when the API server refuses. One that is busy: tests/unit/kube."""

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest
import yaml
from tests.hostile_http import Asked, HostileServer, replying

from specdec_command.cli.connect import ClusterChoice, services
from specdec_operator.errors import Unavailable

ROOT = pathlib.Path(__file__).parents[3]
WORDS = "storage is (re)initializing"


class ApiServer:
    """It refuses the first requests with one status, and has no services."""

    def __init__(self, status: int, times: int) -> None:
        self._refusals = [status] * times
        self.asked = 0

    def reply(self, _: Asked) -> tuple[int, str]:
        """What it answers."""
        self.asked += 1
        if self._refusals:
            return self._refusals.pop(), json.dumps({"kind": "Status", "message": WORDS})
        return 200, json.dumps({"items": []})


async def all_services(server: ApiServer, folder: pathlib.Path) -> dict[str, Any]:
    """What `specdec status` asks it for."""
    async with HostileServer(replying(server.reply, b"Content-Type: application/json", b"Retry-After: 0")) as there:
        named = {"name": "here", "cluster": {"server": there.url}, "user": {}}
        context = {"name": "here", "context": {"cluster": "here", "user": "here"}}
        config = {"current-context": "here", "clusters": [named], "users": [named], "contexts": [context]}
        path = folder / "kubeconfig"
        path.write_text(yaml.safe_dump(config))
        async with services(ClusterChoice(namespace="team-a", context=None, kubeconfig=str(path))) as found:
            return await found.all(everywhere=False)


@pytest.mark.parametrize("status", [401, 403, 500])
async def test_other_refusals_are_shown_at_once(status: int, tmp_path: pathlib.Path) -> None:
    """A second request would not help."""
    server = ApiServer(status, times=2)
    with pytest.raises(Unavailable, match=r"storage is \(re\)initializing"):
        await all_services(server, tmp_path)
    assert server.asked == 1


@pytest.mark.parametrize("kubeconfig", [None, ""])
def test_an_empty_kubeconfig_counts_as_unset(kubeconfig: str | None, tmp_path: pathlib.Path) -> None:
    """As in kubectl: then ~/.kube/config is used, and the message names it."""
    settings = {key: value for key, value in os.environ.items() if key != "KUBECONFIG"} | {"HOME": str(tmp_path)}
    settings |= {} if kubeconfig is None else {"KUBECONFIG": kubeconfig}
    settings["PYTHONPATH"] = os.pathsep.join(str(ROOT / each) for each in ("operator", "runtime"))
    command = [sys.executable, "-m", "specdec_command.cli.main", "status"]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    place = tmp_path / ".kube" / "config"
    assert done.stderr == f"error: no kubeconfig exists at {place}: set KUBECONFIG, or use --kubeconfig\n"
