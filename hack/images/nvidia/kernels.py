"""Compiles FlashInfer's sampling kernels with the image's own CUDA compiler, and keeps them in the image.

vLLM samples with them by default, and compiles them at the first start otherwise: minutes, and the engine dies where
it cannot. FlashInfer takes compiled kernels from a package called flashinfer_jit_cache, by the architectures that they
were compiled for; on any other GPU it compiles as before. The image's own package of that name has one module in it.

No GPU is needed. The driver's library is needed: the caller provides a stub of it where the loader looks.

    FLASHINFER_CUDA_ARCH_LIST="8.0 9.0" python3 kernels.py
"""

from __future__ import annotations

import shutil
import sys
import sysconfig
import time
from pathlib import Path
from typing import Final

MODULE: Final = "sampling"
PACKAGE: Final = "flashinfer_jit_cache"
_NEEDED: Final = ("top_k_top_p_sampling_from_probs", "top_k_mask_logits", "chain_speculative_sampling")
_SOURCE: Final = '''"""Kernels that were compiled when this image was built. FlashInfer looks for this package."""

from pathlib import Path
from types import SimpleNamespace

__version__ = {version!r}


def get_jit_cache_providers():
    """Return the one provider: this folder."""
    return (
        SimpleNamespace(
            provider_id="specdec-runtime",
            distribution="specdec-runtime",
            version=__version__,
            jit_cache_dir=Path(__file__).parent,
            cuda_architectures={architectures!r},
            modules={modules!r},
        ),
    )
'''


def package(library: Path, version: str, architectures: list[str], site: Path) -> Path:
    """Write the package around a compiled library; return its folder."""
    folder = site / PACKAGE
    (folder / MODULE).mkdir(parents=True)
    shutil.copy(library, folder / MODULE / f"{MODULE}.so")
    # A local version, so that it belongs to this FlashInfer and to no other.
    text = _SOURCE.format(version=f"{version}+specdec", architectures=architectures, modules=[MODULE])
    (folder / "__init__.py").write_text(text, encoding="utf-8")
    return folder


def names(architectures: set[tuple[int, str]]) -> list[str]:
    """Return FlashInfer's names of architectures: (9, "0a") is sm90a."""
    return sorted(f"sm{major}{minor}" for major, minor in architectures)


def compile_module() -> None:
    """Compile the module and put it where FlashInfer finds it."""
    from flashinfer import version  # type: ignore[import-not-found]  # noqa: PLC0415
    from flashinfer.compilation_context import CompilationContext  # type: ignore[import-not-found]  # noqa: PLC0415
    from flashinfer.jit.sampling import gen_sampling_module  # type: ignore[import-not-found]  # noqa: PLC0415

    started = time.monotonic()
    built = gen_sampling_module()
    built.build(verbose=True)
    found = names(CompilationContext().TARGET_CUDA_ARCHS)
    folder = package(built.jit_library_path, version.__version__, found, Path(sysconfig.get_path("purelib")))
    size = (folder / MODULE / f"{MODULE}.so").stat().st_size
    seconds = time.monotonic() - started
    print(f"kernels: {MODULE} for {' '.join(found)}: {size} bytes, compiled in {seconds:.0f} s", flush=True)


def load() -> None:
    """Load it as the engine will: by FlashInfer's own way, in a process that has not compiled it."""
    from flashinfer.jit.sampling import gen_sampling_module  # noqa: PLC0415

    built = gen_sampling_module()
    if PACKAGE not in str(built.get_library_path()):
        raise SystemExit(f"kernels: FlashInfer would take {built.get_library_path()}: it does not find the package")
    module = built.build_and_load()
    if missing := [name for name in _NEEDED if not hasattr(module, name)]:
        raise SystemExit(f"kernels: {built.get_library_path()} has no {', '.join(missing)}")
    print(f"kernels: {built.get_library_path()} loads", flush=True)


if __name__ == "__main__":
    load() if sys.argv[1:] == ["load"] else compile_module()
