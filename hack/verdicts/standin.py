"""Libraries of a driver that is not there, so that what is linked with it can be loaded: each call of theirs fails.

What is to be in them is read out of those who ask for it, by `nm`. They are loaded before anybody needs them: the
loader then takes them for the real ones, by their names.
"""

import ctypes
import re
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

CUDA = re.compile(r"cu[A-Z]\w+")
CUDA_FAILS = 100
CANN = re.compile(r"(acl|Acl|Hccl|hccl|aml|rt[A-Z]|[Pp]rof|[Mm]sprof|mstx|tdt|ge[A-Z])\w*")
CANN_FAILS = 507_899
CANN_LIBRARIES = (
    "libhccl",
    "libascendcl",
    "libacl_op_compiler",
    "libge_runner",
    "libgraph",
    "libacl_tdt_channel",
    "libatb",
)
CANN_FINE = frozenset(("aclInit", "aclFinalize", "aclrtSetDevice"))
CANN_TEXTS = {
    "aclrtGetSocName": "Ascend910B1",
    "aclGetRecentErrMsg": "",
    "HcclGetErrorString": "",
    "aclrtGetRecentErrMsg": "",
}


def missing(libraries: Iterable[Path], pattern: re.Pattern[str]) -> set[str]:
    """The names of functions that libraries ask for and do not have."""
    said = (
        subprocess.run(["nm", "-D", "--undefined-only", str(each)], capture_output=True, text=True, check=False).stdout
        for each in libraries
    )
    names = {line.split()[-1].partition("@")[0] for text in said for line in text.splitlines() if line.strip()}
    return {name for name in names if pattern.fullmatch(name)}


def load(sonames: Iterable[str], source: str) -> None:
    """Build a library under each name, and load it for everybody."""
    folder = Path(tempfile.mkdtemp())
    code = folder / "standin.c"
    code.write_text(source)
    for name in sonames:
        made = folder / name
        command = ["gcc", "-shared", "-fPIC", "-w", f"-Wl,-soname,{name}", "-o", str(made), str(code)]
        subprocess.run(command, check=True)
        ctypes.CDLL(str(made), mode=ctypes.RTLD_GLOBAL)


def failing(names: Iterable[str], code: int, fine: Iterable[str] = ()) -> str:
    """Functions that return an error's number, or 0."""
    return "".join(f"int {name}(void){{return {0 if name in fine else code};}}\n" for name in sorted(names))


def cuda(packages: Path) -> None:
    """libcuda for vLLM's own libraries and PyTorch's."""
    asking = [*packages.glob("vllm/*.so"), *packages.glob("torch/lib/*.so"), *packages.glob("triton/_C/*.so")]
    load(["libcuda.so.1"], failing({*missing(asking, CUDA), "cuInit"}, CUDA_FAILS))


def cann(packages: Path) -> None:
    """CANN's libraries for torch_npu."""
    asking = [*packages.glob("torch_npu/lib/*.so"), *packages.glob("torch_npu/_C*.so")]
    names = missing(asking, CANN) - CANN_TEXTS.keys()
    texts = "".join(f'const char *{name}(void){{return "{text}";}}\n' for name, text in CANN_TEXTS.items())
    load([f"{name}.so" for name in CANN_LIBRARIES], texts + failing(names, CANN_FAILS, CANN_FINE))
