"""Compiles stand-ins for libraries that only a node has: NVIDIA's driver, or Huawei's CANN. Every call to them fails.

Only to have the engine's own libraries loaded where no device is; nothing of it is ever part of an image.

    python3 -m hack.images.trial.stubs nvidia|ascend FOLDER        (needs gcc and binutils)
"""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, kw_only=True, slots=True)
class Missing:
    """What a node has and this machine has not. wanted_by: libraries of the engine that take names from it.

    fails: what each function returns; answers: functions that must not fail, or return text.
    """

    libraries: tuple[str, ...]
    wanted_by: tuple[str, ...]
    names: str
    fails: int
    works: frozenset[str] = frozenset()
    texts: tuple[tuple[str, str], ...] = ()


MISSING: Final = {
    "nvidia": Missing(
        libraries=("libcuda.so.1",),
        wanted_by=("vllm/*.so", "vllm/**/*.so", "torch/lib/*.so", "triton/_C/*.so"),
        names=r"cu[A-Z]\w+",
        fails=100,  # CUDA_ERROR_NO_DEVICE
    ),
    "ascend": Missing(
        libraries=(
            "libhccl.so",
            "libascendcl.so",
            "libacl_op_compiler.so",
            "libge_runner.so",
            "libgraph.so",
            "libacl_tdt_channel.so",
            "libatb.so",
        ),
        wanted_by=("torch_npu/lib/*.so", "torch_npu/_C*.so"),
        names=r"(acl|Acl|Hccl|hccl|aml|rt[A-Z]|[Pp]rof|[Mm]sprof|mstx|tdt|ge[A-Z])\w*",
        fails=507899,  # ACL_ERROR_RT_DRV_INTERNAL_ERROR
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
    """Return the names that `nm -D --undefined-only` lists and the missing libraries would have."""
    pattern = re.compile(missing.names)
    found = (line.split()[-1].partition("@")[0] for line in lines if line.strip())
    return {name for name in found if pattern.fullmatch(name)}


def source(names: set[str], missing: Missing) -> str:
    """Return the C of a library with these functions."""
    texts = dict(missing.texts)
    lines = []
    for name in sorted(names):
        if name in texts:
            lines.append(f'const char *{name}(void) {{ return "{texts[name]}"; }}')
        else:
            lines.append(f"int {name}(void) {{ return {0 if name in missing.works else missing.fails}; }}")
    return "\n".join(lines) + "\n"


def build(kind: str, site: Path, folder: Path) -> int:
    """Compile the stand-ins into a folder; return how many functions each has."""
    missing = MISSING[kind]
    libraries = sorted({path for pattern in missing.wanted_by for path in site.glob(pattern)})
    lines = [line for path in libraries for line in _undefined(path)]
    names = wanted(lines, missing)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "standin.c").write_text(source(names, missing), encoding="utf-8")
    for library in missing.libraries:
        options = ["-shared", "-fPIC", "-w", f"-Wl,-soname,{library}", "-o", str(folder / library)]
        subprocess.run(["gcc", *options, str(folder / "standin.c")], check=True)
    return len(names)


def _undefined(path: Path) -> list[str]:
    done = subprocess.run(["nm", "-D", "--undefined-only", path], capture_output=True, text=True, check=False)
    return done.stdout.splitlines()


if __name__ == "__main__":
    count = build(sys.argv[1], Path(sysconfig.get_path("purelib")), Path(sys.argv[2]))
    print(f"{count} functions")
