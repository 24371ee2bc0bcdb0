"""Figures as text: units, digits, and what a ratio says."""

from specdec_operator.measure.compare import Equal
from specdec_operator.measure.spread import Ratio, Spread


def milliseconds(found: Spread | None) -> str:
    """A time with its quartiles, in milliseconds."""
    if found is None:
        return "-"
    return f"{1000 * found.median:.2f} ({1000 * found.low:.2f} to {1000 * found.high:.2f})"


def speed(found: Spread) -> str:
    """Tokens per second with quartiles."""
    return f"{found.median:.1f} ({found.low:.1f} to {found.high:.1f})"


def share(found: Spread | None) -> str:
    """A share with quartiles."""
    return "-" if found is None else f"{found.median:.2f} ({found.low:.2f} to {found.high:.2f})"


def times(found: Ratio | None) -> str:
    """A ratio with its interval, and whether it says anything."""
    if found is None:
        return "-"
    said = f"{found.median:.2f}x ({found.low:.2f} to {found.high:.2f})"
    return said if found.resolved else f"{said}, not resolved"


def equal(found: Equal) -> str:
    """The share of equal answers."""
    return f"{100 * found.share:.0f} % ({found.same} of {found.of})"


def conclusion(concurrency: int, found: Ratio) -> str:
    """What the throughput ratio at one concurrency says, in a sentence."""
    asked = "1 request" if concurrency == 1 else f"{concurrency} requests"
    sure = f"{found.low:.2f} to {found.high:.2f}, {100 * found.confidence:.0f} % sure"
    if not found.resolved:
        return f"With {asked} at once the difference is not resolved: {found.median:.2f}x tokens/s ({sure})."
    word = "faster" if found.median > 1 else "slower"
    return f"With {asked} at once speculation is {word}: {found.median:.2f}x tokens/s ({sure})."
