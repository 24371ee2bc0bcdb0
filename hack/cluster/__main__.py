"""The command line: `python -m hack.cluster up | down | status | metrics | env | kubectl …`."""

import subprocess
import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from hack.cluster import kubectl, lifecycle, metrics, paths, status
from hack.cluster.errors import ClusterError
from hack.cluster.record import ClusterDriver

_PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
app = typer.Typer(add_completion=False, no_args_is_help=True, help="A real Kubernetes cluster on this machine.")


def say(line: str) -> None:
    """Print a line at once, also into a pipe."""
    print(line, flush=True)


@app.command()
def up(
    driver: Annotated[ClusterDriver | None, typer.Option(help="Instead of what the machine suggests.")] = None,
    kserve_controller: Annotated[
        bool, typer.Option("--kserve/--no-kserve", help="KSERVE=0.19.0 chooses another version than 0.20.0.")
    ] = True,
) -> None:
    """Bring the cluster up; do nothing where it is up and healthy."""
    lifecycle.up(say, driver=driver, with_kserve=kserve_controller)


@app.command()
def down() -> None:
    """Remove the cluster without a trace; images and logs stay in the cache."""
    lifecycle.down(say)


@app.command("status")
def show_status() -> None:
    """Print what runs; the exit code is 0 when everything is healthy."""
    layout = paths.layout()
    parts = status.inspect(layout)
    table = Table("part", "pid", "healthy", "version", "note")
    for part in parts:
        table.add_row(part.name, str(part.pid or ""), "yes" if part.healthy else "NO", part.version, part.note)
    Console().print(table)
    if layout.kubeconfig.exists():
        say(f"API server {status.address(layout)}, kubeconfig {layout.kubeconfig}, logs {layout.log}")
    raise typer.Exit(0 if status.healthy(parts) else 1)


@app.command("metrics")
def switch_metrics(
    on: Annotated[bool, typer.Option("--on/--off", help="Start it, or stop it and remove its API.")] = True,
) -> None:
    """Start metrics-server on the single node: `kubectl top` and HorizontalPodAutoscalers need it."""
    server = metrics.MetricsServer(layout=paths.layout(), say=say)
    if on:
        server.start()
        say("metrics-server answers: `kubectl top pods` works")
    else:
        server.stop()
        say("metrics-server is stopped")


@app.command()
def env() -> None:
    """Print lines for `eval`: after them, kubectl without options uses this cluster."""
    for line in kubectl.shell_lines():
        say(line)


@app.command("kubectl", context_settings=_PASS_ON)
def run_kubectl() -> None:
    """Run kubectl against the cluster."""
    # Taken from the process, not from typer, which swallows the `--` of `exec POD -- COMMAND`.
    words = sys.argv[sys.argv.index("kubectl") + 1 :]
    command = kubectl.command(kubectl.config(), *words)
    raise typer.Exit(subprocess.run(command, check=False).returncode)


def main() -> None:
    """Run, and turn an expected failure into its sentence."""
    try:
        app()
    except ClusterError as failure:
        print(f"error: {failure}", file=sys.stderr)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
