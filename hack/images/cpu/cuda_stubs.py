"""Puts empty libraries in the place of CUDA's, which PyTorch links to and a CPU never calls.

PyPI has PyTorch for x86-64 with CUDA only; its libraries alone are 2.7 GB. Each stub has the names that PyTorch asks
the loader for, and ends the process with a sentence if one is ever called. libcudart stays the real one: PyTorch
calls it while it is loaded.

    python3 cuda_stubs.py SITE_PACKAGES        (needs gcc and binutils)
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

_CUDA = re.compile(r"^lib(cu|nv|nccl)[\w-]*\.so")
_REAL = "libcudart"
# Libraries whose names carry no version, so that only the prefix of a name shows where it belongs.
_UNVERSIONED = {"cuFile": "libcufile", "cusparseLt": "libcusparseLt", "nccl": "libnccl"}
_NEEDED = re.compile(r"\(NEEDED\).*\[(.+)\]")
_UNDEFINED = re.compile(r"\s(\w+)(?:@(\S+))?(?:\s\(\d+\))?$")
_ABORT = """#include <stdio.h>
#include <stdlib.h>
static void none(const char *name) {
  fprintf(stderr, "CUDA is not part of this image (%s was called)\\n", name);
  abort();
}
"""


def _output(*command: str) -> list[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def wanted_libraries(libraries: list[Path]) -> set[str]:
    """Return the CUDA libraries that the loader will look for."""
    needed = {
        found[1]
        for path in libraries
        for line in _output("readelf", "-dW", str(path))
        if (found := _NEEDED.search(line))
    }
    return {name for name in needed if _CUDA.match(name) and not name.startswith(_REAL)}


def undefined_names(libraries: list[Path]) -> set[tuple[str, str]]:
    """Return the names that PyTorch's libraries take from others, each with its version or an empty one."""
    lines = [line for path in libraries for line in _output("nm", "-D", "--undefined-only", str(path))]
    return {(found[1], found[2] or "") for line in lines if (found := _UNDEFINED.search(line))}


def distribute(names: set[tuple[str, str]], libraries: set[str]) -> dict[str, dict[str, set[str]]]:
    """Return for each library its names by version. A version is the library's own name, or NVSHMEM."""
    of_version = {name: name for name in libraries}
    of_version.update(("NVSHMEM", name) for name in libraries if name.startswith("libnvshmem"))
    placed: dict[str, dict[str, set[str]]] = {name: defaultdict(set) for name in libraries}
    for name, version in names:
        if version in of_version:
            placed[of_version[version]][version].add(name)
        elif not version:
            for prefix, start in _UNVERSIONED.items():
                for library in libraries:
                    if name.startswith(prefix) and library.split(".")[0] == start:
                        placed[library][""].add(name)
    return placed


def compile_stub(library: str, versions: dict[str, set[str]], folder: Path) -> None:
    """Compile one library."""
    names = sorted(name for group in versions.values() for name in group)
    with tempfile.TemporaryDirectory() as scratch:
        source, script = Path(scratch) / "stub.c", Path(scratch) / "stub.map"
        source.write_text(_ABORT + "".join(f"void {name}(void) {{ none(__func__); }}\n" for name in names))
        script.write_text("".join(f"{version} {{ global: *; }};\n" for version in versions if version))
        options = [f"-Wl,--version-script={script}"] if script.stat().st_size else []
        subprocess.run(
            ["gcc", "-shared", "-fPIC", "-Os", "-s", "-w", f"-Wl,-soname,{library}", *options, str(source),
             "-o", str(folder / library)],
            check=True,
        )  # fmt: skip


def main(site_packages: Path) -> None:
    """Write the stubs beside PyTorch's libraries, where its loader looks first."""
    folder = site_packages / "torch" / "lib"
    libraries = sorted(folder.glob("*.so*"))
    placed = distribute(undefined_names(libraries), wanted_libraries(libraries))
    for library, versions in sorted(placed.items()):
        compile_stub(library, versions, folder)
        print(f"{library}: {sum(len(group) for group in versions.values())} names")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
