"""The places that `specdec` looks for a cluster in. A busy API server, or one that refuses: tests/unit/kube."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[3]


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
