"""A stand-in of vLLM's server module, for specdec_runtime's engine to run as it runs the real one."""

from pathlib import Path

from specdec_runtime import launch

RUNTIME = Path(launch.__file__).parents[1]
"""The folder that holds specdec_runtime."""


def server(folder: Path, text: str, *, newest: bool = False) -> None:
    """Write a package vllm whose server is `text`: a module to run, or the newest versions' function main."""
    package = folder / "vllm" / "entrypoints" / ("launchers/api_server" if newest else "openai")
    package.mkdir(parents=True)
    for each in (package, *package.relative_to(folder).parents):
        (folder / each / "__init__.py").touch() if each != Path() else None
    (package / ("entry.py" if newest else "api_server.py")).write_text(text)
