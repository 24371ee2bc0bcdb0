"""Libraries that only a node with a device has: NVIDIA's driver, or Huawei's CANN. Every call to them fails.

They let an engine's own libraries be loaded where no device is. Their functions are those that the engine's libraries
ask for, by `nm`. Nothing of this is ever part of an image.

    python3 -m lab.verdicts.standin cuda|cann FOLDER        (needs gcc and binutils)
"""

import ctypes
import re
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final


@dataclass(frozen=True, kw_only=True, slots=True)
class Missing:
    """What a node has and this machine has not. asking: libraries of the engine that take names from it.

    fails: what each function returns, except those that must not fail (`works`) or return text (`texts`). always:
    functions that are looked up by their names at run time.
    """

    libraries: tuple[str, ...]
    asking: tuple[str, ...]
    names: str
    fails: int
    works: frozenset[str] = frozenset()
    texts: tuple[tuple[str, str], ...] = ()
    always: frozenset[str] = frozenset()


MISSING: Final = {
    "cuda": Missing(
        libraries=("libcuda.so.1",),
        asking=("vllm/**/*.so", "torch/lib/*.so", "triton/_C/*.so"),
        names=r"cu[A-Z]\w+",
        fails=100,  # CUDA_ERROR_NO_DEVICE
        always=frozenset({"cuInit"}),
    ),
    "cann": Missing(
        libraries=(
            "libhccl.so",
            "libascendcl.so",
            "libacl_op_compiler.so",
            "libge_runner.so",
            "libgraph.so",
            "libacl_tdt_channel.so",
            "libatb.so",
        ),
        asking=("torch_npu/lib/*.so", "torch_npu/_C*.so"),
        names=r"(acl|Acl|Hccl|hccl|aml|rt[A-Z]|[Pp]rof|[Mm]sprof|mstx|tdt|ge[A-Z])\w*",
        fails=507_899,  # ACL_ERROR_RT_DRV_INTERNAL_ERROR
        works=frozenset({"aclInit", "aclFinalize", "aclrtSetDevice"}),
        texts=(
            ("aclrtGetSocName", "Ascend910B1"),
            ("aclGetRecentErrMsg", ""),
            ("aclrtGetRecentErrMsg", ""),
            ("HcclGetErrorString", ""),
        ),
    ),
}


def wanted(lines: Iterable[str], missing: Missing) -> set[str]:
    """The functions that the libraries have to have: those that `nm -D --undefined-only` lists, and `always`."""
    pattern = re.compile(missing.names)
    found = (line.split()[-1].partition("@")[0] for line in lines if line.strip())
    return {name for name in found if pattern.fullmatch(name)} | missing.always


def source(names: set[str], missing: Missing) -> str:
    """The C of a library with these functions."""
    texts = dict(missing.texts)
    lines = []
    for name in sorted(names):
        if name in texts:
            lines.append(f'const char *{name}(void) {{ return "{texts[name]}"; }}')
        else:
            lines.append(f"int {name}(void) {{ return {0 if name in missing.works else missing.fails}; }}")
    return "\n".join(lines) + "\n"


def build(missing: Missing, packages: Path, folder: Path) -> int:
    """Compile the libraries into a folder; returns how many functions each has.

    packages: the engine's site-packages.
    """
    asking = sorted({path for pattern in missing.asking for path in packages.glob(pattern)})
    names = wanted([line for path in asking for line in _undefined(path)], missing)
    folder.mkdir(parents=True, exist_ok=True)
    code = folder / "standin.c"
    code.write_text(source(names, missing), encoding="utf-8")
    for library in missing.libraries:
        options = ["-shared", "-fPIC", "-w", f"-Wl,-soname,{library}", "-o", str(folder / library)]
        subprocess.run(["gcc", *options, str(code)], check=True)
    return len(names)


def load(name: str) -> None:
    """Build and load the libraries for everybody in this process: the loader takes them for the real ones by name."""
    missing, folder = MISSING[name], Path(tempfile.mkdtemp())
    build(missing, Path(sysconfig.get_path("purelib")), folder)
    for library in missing.libraries:
        ctypes.CDLL(str(folder / library), mode=ctypes.RTLD_GLOBAL)


def _undefined(path: Path) -> list[str]:
    done = subprocess.run(["nm", "-D", "--undefined-only", path], capture_output=True, text=True, check=False)
    return done.stdout.splitlines()


if __name__ == "__main__":
    count = build(MISSING[sys.argv[1]], Path(sysconfig.get_path("purelib")), Path(sys.argv[2]))
    print(f"{count} functions")
