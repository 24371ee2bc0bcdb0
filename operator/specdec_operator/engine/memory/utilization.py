"""From what does not fit beside the engine's budget to the share of the device to ask for. In millionths, exactly."""

from dataclasses import dataclass
from typing import Final

from specdec_operator.engine.memory.inputs import MemoryInputs, ReserveKind
from specdec_operator.engine.version import Flavor, Version

WHOLE: Final = 1_000_000  # the whole device
_STEP: Final = 10_000  # a lowered utilisation is rounded down to 0.01
_FINE: Final = 1_000  # what the model needs is rounded up to 0.001
_HIGHER_SINCE: Final = Version(0, 20)  # vllm/config/cache.py: 0.9 before
_ASCEND_MOST: Final = 900_000  # beyond it, graphs that vllm-ascend does not count are known to run out of memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The utilisation to ask for, and why, in millionths of the device.

    asked: the user's or the engine's default. wanted: what the reserve alone would make of it. chosen: the result.
    missing: bytes that the reserve wants and that `asked` leaves too few of; 0 where it fits.
    ascend: lowered to what an NPU with uncounted graphs bears. needed: what the model needs at least; 0: not known.
    """

    asked: int
    wanted: int
    chosen: int
    missing: int
    ascend: bool
    needed: int

    @property
    def held_up(self) -> bool:
        """Whether it stays above what the reserve wants because the model needs it."""
        return self.chosen > self.wanted


def asked_millionths(inputs: MemoryInputs) -> int:
    """The user's utilisation, or the default of the vLLM inside."""
    if inputs.utilization is not None:
        return round(inputs.utilization * WHOLE)
    return 920_000 if inputs.build.vllm >= _HIGHER_SINCE else 900_000


def choose(inputs: MemoryInputs, device: int, *, outside: int, needed: int, ascend: bool) -> Choice:
    """Lowers the utilisation by the reserve, down to 0.01 steps, but not below what the model needs.

    outside, needed: bytes that the engine does not count, and that it must have at least.
    ascend: its graphs are among those that it does not count.
    """
    start = asked_millionths(inputs)
    wanted, missing = start, 0
    match inputs.reserve.kind:
        case ReserveKind.AUTO if inputs.method is not None:
            missing = max(0, outside - device * (WHOLE - start) // WHOLE)
            wanted = _lowered(start, _share(missing, device))
        case ReserveKind.SHARE:
            wanted = _lowered(start, inputs.reserve.amount)
        case ReserveKind.BYTES:
            wanted = _lowered(start, _share(inputs.reserve.amount, device))
    capped = ascend and _cautious(inputs) and wanted > _ASCEND_MOST
    wanted = min(wanted, _ASCEND_MOST) if capped else wanted
    least = -(-needed * WHOLE // device // _FINE) * _FINE
    chosen = wanted if wanted >= least else max(wanted, min(start, least))
    return Choice(asked=start, wanted=wanted, chosen=chosen, missing=missing, ascend=capped, needed=least)


def share_without_device(inputs: MemoryInputs, *, ascend: bool) -> int:
    """What is left to ask for where the device's memory is not known: only shares can be taken off.

    ascend: as in `choose`.
    """
    start = asked_millionths(inputs)
    if ascend and _cautious(inputs):
        return min(start, _ASCEND_MOST)
    return _lowered(start, inputs.reserve.amount) if inputs.reserve.kind is ReserveKind.SHARE else start


def _cautious(inputs: MemoryInputs) -> bool:
    """Whether nobody has said how much of an NPU to leave to graphs: not by a reserve, nor by a utilisation."""
    return inputs.reserve.kind is ReserveKind.AUTO and inputs.method is not None and inputs.utilization is None


def graphs_outside(inputs: MemoryInputs, counted: bool) -> bool:
    """Whether an NPU captures graphs that its engine does not count."""
    return inputs.build.flavor is Flavor.VLLM_ASCEND and not counted and not inputs.case.switched("enforce_eager")


def _share(size: int, device: int) -> int:
    """To the nearest millionth: a byte of rounding must not cost the next 0.01."""
    return (size * WHOLE + device // 2) // device


def _lowered(start: int, amount: int) -> int:
    """Rounded down to 0.01 and never to nothing; unchanged where nothing is taken off."""
    return max(_STEP, (start - amount) // _STEP * _STEP) if amount > 0 else start
