"""From what does not fit beside the engine's budget to the share of the device to ask for. In millionths, exactly."""

from dataclasses import dataclass
from typing import Final

from specdec_engine.memory.inputs import MemoryInputs, ReserveKind
from specdec_engine.version import Build, Flavor, Version

WHOLE: Final = 1_000_000  # the whole device
_STEP: Final = 10_000  # a lowered utilisation is rounded down to 0.01
_FINE: Final = 1_000  # what the model needs is rounded up to 0.001
_HIGHER_SINCE: Final = Version(0, 20)  # vllm/config/cache.py: 0.9 before
_LEAST: Final = 20_000  # what a draft with weights of its own costs at least, however large the device
CAUTIOUS: Final = 50_000
"""Taken off where the device or the models are not known, for a draft with weights of its own: 0.05 to 0.10 is what
Alauda's guide advises against running out of memory."""
_ASCEND_MOST: Final = 900_000  # beyond it, graphs that vllm-ascend does not count are known to run out of memory


@dataclass(frozen=True, slots=True, kw_only=True)
class UtilizationChoice:
    """The utilisation to ask for, and why, in millionths of the device.

    asked: the user's or the engine's default. wanted: what the reserve alone would make of it. chosen: the result.
    missing: bytes that the reserve wants and that `asked` leaves too few of; 0 where it fits. added: millionths for
    what speculation adds; 0 where the reserve does not ask for it.
    ascend: lowered to what an NPU with uncounted graphs bears. needed: what the model needs at least; 0: not known.
    """

    asked: int
    wanted: int
    chosen: int
    missing: int
    ascend: bool
    needed: int
    added: int = 0

    @property
    def held_up(self) -> bool:
        """Whether it stays above what the reserve wants because the model needs it."""
        return self.chosen > self.wanted


def asked_millionths(inputs: MemoryInputs) -> int:
    """The user's utilisation, or the default of the vLLM inside."""
    if inputs.utilization is not None:
        return round(inputs.utilization * WHOLE)
    return default_millionths(inputs.build)


def default_millionths(build: Build) -> int:
    """The default of the vLLM inside."""
    return 920_000 if build.vllm >= _HIGHER_SINCE else 900_000


def choose(
    inputs: MemoryInputs, device: int, *, outside: int, added: int, needed: int, ascend: bool
) -> UtilizationChoice:
    """Lowers the utilisation by the reserve, down to 0.01 steps, but not below what the model needs.

    outside, added, needed: bytes that the engine does not count, those of them that speculation adds, and those that it
    must have at least. ascend: its graphs are among those that it does not count.
    """
    start = asked_millionths(inputs)
    wanted, missing, share = start, 0, 0
    match inputs.reserve.kind:
        case ReserveKind.AUTO | ReserveKind.COUNTED if inputs.method is not None:
            missing = max(0, outside - device * (WHOLE - start) // WHOLE)
            share = _for_speculation(inputs, _share(added, device))
            wanted = _lowered(start, max(share, _share(missing, device)))
        case ReserveKind.SHARE:
            wanted = _lowered(start, inputs.reserve.amount)
        case ReserveKind.BYTES:
            wanted = _lowered(start, _share(inputs.reserve.amount, device))
    wanted = _lowered(wanted, _further(inputs))
    capped = ascend and _cautious(inputs) and wanted > _ASCEND_MOST
    wanted = min(wanted, _ASCEND_MOST) if capped else wanted
    least = -(-needed * WHOLE // device // _FINE) * _FINE
    chosen = wanted if wanted >= least else max(wanted, min(start, least))
    if inputs.settled is not None:
        chosen = round(inputs.settled * WHOLE)
        wanted = min(wanted, chosen)
    return UtilizationChoice(
        asked=start, wanted=wanted, chosen=chosen, missing=missing, ascend=capped, needed=least, added=share
    )


def _for_speculation(inputs: MemoryInputs, added: int) -> int:
    """Millionths that Auto takes off. added: what is known to be added; not all of it without the target's config."""
    if inputs.reserve.kind is not ReserveKind.AUTO:
        return 0
    if not inputs.loads_a_draft:
        return added
    return max(added, _LEAST if inputs.target.vocab else CAUTIOUS)


def share_without_device(inputs: MemoryInputs, *, ascend: bool) -> int:
    """What is left to ask for where the device's memory is not known: only shares can be taken off.

    ascend: as in `choose`.
    """
    start = asked_millionths(inputs)
    auto = inputs.reserve.kind is ReserveKind.AUTO and inputs.loads_a_draft
    lowered = _lowered(start, CAUTIOUS if auto else inputs.reserve.amount if _is_share(inputs) else 0)
    lowered = _lowered(lowered, _further(inputs))
    return min(lowered, _ASCEND_MOST) if ascend and _cautious(inputs) else lowered


def _further(inputs: MemoryInputs) -> int:
    return round(inputs.lowered_further * WHOLE) if inputs.method else 0


def _is_share(inputs: MemoryInputs) -> bool:
    return inputs.reserve.kind is ReserveKind.SHARE


def _cautious(inputs: MemoryInputs) -> bool:
    """Whether the user has not set how much of an NPU to leave to graphs, by a reserve or by a utilisation."""
    kinds = (ReserveKind.AUTO, ReserveKind.COUNTED)
    return inputs.reserve.kind in kinds and inputs.method is not None and inputs.utilization is None


def graphs_outside(inputs: MemoryInputs, counted: bool) -> bool:
    """Whether an NPU captures graphs that its engine does not count."""
    return inputs.build.flavor is Flavor.VLLM_ASCEND and not counted and not inputs.case.switched("enforce_eager")


def _share(size: int, device: int) -> int:
    """To the nearest millionth: a byte of rounding must not cost the next 0.01."""
    return (size * WHOLE + device // 2) // device


def _lowered(start: int, amount: int) -> int:
    """Rounded down to 0.01 and never to nothing; unchanged where nothing is taken off."""
    return max(_STEP, (start - amount) // _STEP * _STEP) if amount > 0 else start
