"""How specdec_runtime comes into the engine's container, and what a service lacks without it. Pure.

It checks models before the engine loads them (preflight), proves the engine before it counts as up, lets clients finish
before a pod stops (drain), and reports why an engine ended. An image of another project does not have it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from specdec_engine.engine_image import OWN_IMAGE
from specdec_engine.rule import Finding, Rule, Severity

Json = Mapping[str, Any]
_RUNTIME: Final = re.compile(r"specdec-(cpu|nvidia|ascend)(-[0-9a-f]{8})?")
"""Names of the runtimes that this project installs."""
_LACKS: Final = (
    "pods start without preflight, are ready when /health answers, stop without draining, and do not report why an "
    "engine ended; the guard reads /metrics"
)
_OF_RUNTIME: Final = "its command, port and probes are unknown"


class Instrument(StrEnum):
    """What a user may request. All values except Auto also name what is done."""

    AUTO = "Auto"
    """Image for this project's runtimes and images, Inject for another image, None for another runtime."""
    IMAGE = "Image"
    """The image has specdec_runtime."""
    INJECT = "Inject"
    """An init container of the operator's image copies it into the pod."""
    NONE = "None"
    """The pods go without it."""


def _rule(severity: Severity, name: str, says: str) -> Rule:
    return Rule(id=name, severity=severity, says=says, source="this project: docs/images.md#your-own-image")


INJECTED: Final = _rule(
    Severity.NOTED,
    "IMAGE-INJECTED",
    "If an image lacks specdec_runtime, an init container copies it from the operator's image.",
)
ASKED: Final = _rule(
    Severity.NOTED,
    "IMAGE-NOT-INSTRUMENTED",
    "A service may run without preflight, startup proof, drain and exit reports.",
)
FOREIGN: Final = _rule(
    Severity.WARNED,
    "RUNTIME-NOT-INSTRUMENTED",
    "The operator adds nothing to the pods of a runtime that is not this project's, because it does not know what the "
    "runtime starts.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Instrumented:
    """The result for one service. how: never Auto. reason, message: for a condition; no reason: nothing to report.

    foreign_image: whether a runtime of this project runs an image of another project. foreign_runtime: whether the
    runtime is of another project.
    """

    how: Instrument = Instrument.IMAGE
    reason: str = ""
    message: str = ""
    foreign_image: bool = False
    foreign_runtime: bool = False


def instrumented(
    engine: Json, *, runtimes: tuple[str, ...] = (), operator_image: str = "", prepared: bool = False
) -> Instrumented:
    """The result for an engine as the spec has it. runtimes: those that are installed, by the operator's settings.

    operator_image: the operator's own image, which holds the code to inject; empty: not known. prepared: whether a
    runtime of another project is seen to start specdec_runtime.
    """
    asked, image, runtime = Instrument(engine.get("instrument", "Auto")), engine.get("image"), engine.get("runtime")
    foreign_runtime = bool(runtime) and runtime not in runtimes and not _RUNTIME.fullmatch(str(runtime))
    foreign_image = bool(image) and not _is_ours(str(image))
    bare = foreign_runtime and not prepared and not (image and not foreign_image)
    how, reason, message = _decided(asked, image=foreign_image and not foreign_runtime, runtime=bare)
    if how is Instrument.INJECT and not operator_image:
        how, reason = Instrument.NONE, "OperatorImageUnknown"
        message = (
            f"the operator does not know its own image (SPECDEC_IMAGE), so it cannot inject specdec_runtime: {_LACKS}"
        )
    return Instrumented(
        how=how,
        reason=reason,
        message=message,
        foreign_image=foreign_image and not foreign_runtime,
        foreign_runtime=foreign_runtime,
    )


def _decided(asked: Instrument, *, image: bool, runtime: bool) -> tuple[Instrument, str, str]:
    """What is done, with its reason and message. image, runtime: whether it is of another project, without
    specdec_runtime.
    """
    match asked:
        case Instrument.IMAGE:
            return asked, "InImage", "spec.engine.instrument states that the image has specdec_runtime"
        case Instrument.INJECT:
            return asked, "Injected", "an init container brings specdec_runtime, as requested in spec.engine.instrument"
        case Instrument.NONE:
            return asked, "AsRequested", f"as requested in spec.engine.instrument, {_LACKS}"
    if runtime:
        return (
            Instrument.NONE,
            "ForeignRuntime",
            f"spec.engine.runtime is not one of this project's runtimes, {_OF_RUNTIME}: {_LACKS}",
        )
    if image:
        return (
            Instrument.INJECT,
            "Injected",
            "spec.engine.image is not this project's image: an init container brings specdec_runtime",
        )
    return Instrument.IMAGE, "", ""


def _is_ours(image: str) -> bool:
    """Whether an image is one of this project's, by the last part of its name."""
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0] == OWN_IMAGE


def findings(engine: Json, found: Instrumented) -> Iterator[Finding]:
    """What is reported of it before anything runs."""
    foreign = "image" if found.foreign_image else "runtime" if found.foreign_runtime else "instrument"
    place, value = f"spec.engine.{foreign}", engine.get(foreign)
    if found.how is Instrument.INJECT:
        yield INJECTED.broken(
            place, value, f"{found.message}; the pods must be able to pull the operator's image as well"
        )
    elif found.how is Instrument.NONE and found.reason == "AsRequested":
        yield ASKED.broken(place, value, found.message)
    elif found.how is Instrument.NONE:
        way_out = (
            "set spec.engine.instrument: Image where its image has specdec_runtime, Inject where its arguments are "
        )
        yield FOREIGN.broken(place, value, f"{found.message}; {way_out}vLLM's flags, None to leave it so")
