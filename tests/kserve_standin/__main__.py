"""The command line of the KServe stand-in: run it, install its CRDs, or print what it makes of a file."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
from pathlib import Path

import yaml

from tests.kserve_standin.api import Api
from tests.kserve_standin.controller import run
from tests.kserve_standin.install import install
from tests.kserve_standin.live import record
from tests.kserve_standin.model import Config
from tests.kserve_standin.show import show

_RUNTIMES = Path(__file__).parents[2] / "manifests" / "runtimes"


def main(argv: list[str] | None = None) -> int:
    """Do what the command line says and return the exit status."""
    arguments = _parser().parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s KServe stand-in: %(message)s", stream=sys.stderr)
    logging.getLogger("kopf").setLevel(logging.WARNING)
    if arguments.command == "render":
        return _render(arguments)
    if arguments.command == "install-crds" or getattr(arguments, "install_crds", False):
        asyncio.run(_install(arguments.kubeconfig, arguments.crds))
    if arguments.command == "record":
        asyncio.run(_record(arguments.kubeconfig, arguments.scene))
    if arguments.command == "run":
        asyncio.run(run(arguments.kubeconfig, Config(), namespace=arguments.namespace))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.kserve_standin", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    runner = commands.add_parser("run", help="run the controller until it is stopped")
    runner.add_argument("--install-crds", action="store_true", help="install the CRDs first")
    runner.add_argument("--namespace", help="look at one namespace only")
    installer = commands.add_parser("install-crds", help="install the CRDs and end")
    recorder = commands.add_parser("record", help="play a scene to the controller that runs, print its answers")
    recorder.add_argument("scene", type=Path)
    for command in (runner, installer, recorder):
        command.add_argument("--kubeconfig", type=Path, required=True)
    for command in (runner, installer):
        command.add_argument("--crds", type=Path, help="a folder with KServe's own CRDs, to use where it has them")
    renderer = commands.add_parser("render", help="print the objects and the status of an InferenceService")
    renderer.add_argument("file", type=Path)
    renderer.add_argument("--runtime", type=Path, action="append", help="a file with runtimes (may be repeated)")
    return parser


async def _install(kubeconfig: Path, folder: Path | None) -> None:
    async with Api.connect(kubeconfig) as api:
        await install(api, folder)


async def _record(kubeconfig: Path, scene: Path) -> None:
    async with Api.connect(kubeconfig) as api:
        recorded = await record(api, yaml.safe_load(scene.read_text()))
    sys.stdout.write(yaml.safe_dump(recorded, sort_keys=False, width=110))


def _render(arguments: argparse.Namespace) -> int:
    files = arguments.runtime or sorted(_RUNTIMES.glob("*.yaml"))
    manifests = [item for path in (arguments.file, *files) for item in yaml.safe_load_all(path.read_text()) if item]
    shown = show(manifests)
    if not shown:
        print(f"{arguments.file} holds no InferenceService; put one into it", file=sys.stderr)
        return 2
    sys.stdout.write(yaml.safe_dump_all(shown, sort_keys=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
