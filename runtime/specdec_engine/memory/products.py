"""Memory of published devices by name, for nodes that show which device they have and not how much it holds."""

import re
from typing import Final

MIB: Final = 1024**2
_PRODUCTS: Final = (
    ("T4", 15_360),
    ("V100 32GB", 32_768),
    ("V100", 16_384),
    ("A10", 23_028),
    ("A10G", 23_028),
    ("A30", 24_576),
    ("A40", 46_068),
    ("L4", 23_034),
    ("L40", 46_068),
    ("L40S", 46_068),
    ("A100 80GB", 81_920),
    ("A100", 40_960),
    ("H100 NVL", 95_830),
    ("H100", 81_559),
    ("H20", 97_871),
    ("H200", 143_771),
    ("B200", 183_359),
    ("RTX 3090", 24_576),
    ("RTX 4090", 24_564),
    ("910B1", 65_536),
    ("910B2", 65_536),
    ("910B3", 65_536),
    ("910B4 1", 65_536),
    ("910B4", 32_768),
)
"""Words of a name and MiB, as the drivers' own tools list them (nvidia-smi, npu-smi); of two that fit, the first."""
_SLICE: Final = re.compile(r"\b\d+g\.(\d+)gb\b", re.IGNORECASE)
_OF_SLICE: Final = 4864 * MIB  # of 5 nominal gigabytes: 1g.5gb has 4864 MiB and 1g.10gb 9728; larger slices have more


def product_memory(name: str) -> int | None:
    """Bytes of a device by its name, such as NVIDIA-A100-SXM4-80GB, nvidia-l4, 910B3 or A100-SXM4-40GB-MIG-1g.5gb.

    None: the table does not have it.
    """
    if (size := slice_memory(name)) is not None:
        return size
    words = {*re.split(r"[^A-Z0-9]+", name.upper().replace("ASCEND", ""))}
    return next((size * MIB for known, size in _PRODUCTS if {*known.split()} <= words), None)


def slice_memory(name: str) -> int | None:
    """Bytes of a slice of a GPU by its profile, such as 1g.10gb; None: there is none in the name."""
    found = _SLICE.search(name)
    return int(found[1]) * _OF_SLICE // 5 if found else None
