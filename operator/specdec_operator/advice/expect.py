"""What is left of a method's speed-up when more requests run at once."""

from typing import Final

from specdec_operator.advice.facts import Band, Fact, Load

WORTH: Final = 1.05
"""A cautious speed-up below this is not worth a draft, a longer start and another thing that can break."""
UNDER_LOAD: Final = Fact(
    "Gains shrink with the load: by half from 9 requests at once, by three quarters from 32, where losses of a third "
    "were seen.",
    "llm-d PR 2074 (27, 13, 0 % at 1, 4, 8 requests a second); vLLM PR 36847 (3.5 at 1, 1.6 at 32); "
    "vLLM blog 2024 (1.4 to 1.8 times slower at high load)",
)
_LEFT: Final = {Load.FEW: 1.0, Load.SOME: 0.5, Load.MANY: 0.25}
_LOSS_BUSY: Final = 0.7


def under(load: Load, band: Band) -> Band:
    """The band at a load; `band` is that with few requests."""
    low, high = _left(band.low, load), _left(band.high, load)
    return Band(min(low, _LOSS_BUSY) if load is Load.MANY else low, high)


def _left(speedup: float, load: Load) -> float:
    """A gain shrinks, a loss stays."""
    return 1 + (speedup - 1) * _LEFT[load] if speedup > 1 else speedup
