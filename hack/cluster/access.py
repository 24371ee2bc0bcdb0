"""How others reach the cluster: the kubeconfig for clients on this machine, and lines for a shell."""

import pathlib
import shlex

from hack.cluster import binaries, paths
from hack.cluster.errors import ClusterError


def kubeconfig() -> pathlib.Path:
    """Return the kubeconfig of the running cluster."""
    layout = paths.layout()
    if not layout.record.exists():
        raise ClusterError("no cluster is up: run `python -m hack.cluster up` (make cluster-up)")
    return layout.kubeconfig


def shell_lines() -> list[str]:
    """Lines for `eval`: after them, plain `kubectl` speaks to this cluster."""
    program = binaries.ensure("kubectl")["kubectl"]
    config, folder = shlex.quote(str(kubeconfig())), shlex.quote(str(program.parent))
    return [f"export KUBECONFIG={config}", f"export PATH={folder}:$PATH"]
