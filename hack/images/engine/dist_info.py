"""Makes specdec_runtime known to the engine: its entry points are how vLLM finds the plugin.

Compiles it as well, because the file system is read-only later.

python dist_info.py PYPROJECT FOLDER
"""

from __future__ import annotations

import compileall
import py_compile
import sys
import tomllib
from pathlib import Path


def main(pyproject: Path, folder: Path) -> None:
    """Write the distribution's metadata and the bytecode beside the package."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    info = folder / f"specdec_runtime-{project['version']}.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    metadata = f"Metadata-Version: 2.1\nName: specdec-runtime\nVersion: {project['version']}\n"
    (info / "METADATA").write_text(metadata, encoding="utf-8")
    lines = [
        line
        for group, entries in project["entry-points"].items()
        for line in (f"[{group}]", *(f"{name} = {target}" for name, target in entries.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    compileall.compile_dir(folder, quiet=1, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
