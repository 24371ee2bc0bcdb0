"""Which engine a service gets: its image decides that, and spec.engine.version where the image does not show it. Pure.

Rules and flags follow the engine inside the image. Flags of another version can keep the pods from starting, the
baseline's too.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from specdec_engine.accelerators import Accelerator
from specdec_engine.engine_image import OWN_IMAGE, EngineImage, engine_image, public_image
from specdec_engine.found_engine import version_of
from specdec_engine.rule import Finding, Rule, Severity
from specdec_engine.version import IMAGES, Build, Version
from specdec_operator import __version__
from specdec_operator.engine.build import build_of

Json = Mapping[str, Any]
_VERSION, _IMAGE, _RUNTIME = "spec.engine.version", "spec.engine.image", "spec.engine.runtime"


def _rule(severity: Severity, name: str, says: str) -> Rule:
    return Rule(id=name, severity=severity, says=says, source="this project: docs/images.md#the-version-inside")


DIFFERS: Final = _rule(
    Severity.REFUSED, "IMAGE-VERSION", "spec.engine.version must be the version of the engine in the image."
)
MAY_DIFFER: Final = _rule(
    Severity.WARNED,
    "IMAGE-VERSION-LIKELY",
    "The tag of an image with vllm in its name is probably the version of the engine inside.",
)
UNKNOWN: Final = _rule(
    Severity.NOTED,
    "IMAGE-VERSION-UNKNOWN",
    "If an image does not show the engine's version, rules and flags are those of spec.engine.version or this release.",
)
CHOSEN: Final = _rule(
    Severity.WARNED,
    "IMAGE-OF-VERSION",
    "A version that this release's image does not have runs in the engine's own public image of that version.",
)
FOUND: Final = _rule(
    Severity.WARNED, "IMAGE-VERSION-FOUND", "Rules and flags follow the engine that the pods found in their image."
)
ELSEWHERE: Final = _rule(
    Severity.REFUSED, "IMAGE-ACCELERATOR", "The image must be built for the accelerator of the service."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineChoice:
    """The engine of a service. image: of its container; empty: the runtime's own. findings: about version and image."""

    build: Build
    image: str
    findings: tuple[Finding, ...] = ()


def choose_engine(engine: Json, *, runtime_image: str = "", found: str = "") -> EngineChoice:
    """What spec.engine asks for. Raises Invalid if spec.engine.version is not a version.

    runtime_image: what replaces the image of this release's runtime in the cluster; empty: nothing, as far as known.
    found: the engine that its pods found, such as `vllm 0.33.0`; empty: none has reported it.
    """
    chosen = _by_names(engine, runtime_image)
    accelerator = Accelerator(engine.get("accelerator", Accelerator.NVIDIA))
    version = version_of(found, accelerator)
    if not version:
        return chosen
    findings = [each for each in chosen.findings if each.rule in (ELSEWHERE, CHOSEN)]
    believed = chosen.build.ascend or chosen.build.vllm
    if _differ(version, str(believed)):
        named = engine.get("version")
        message = (
            f"the pods found {found} in their image, and rules and flags would be those of {chosen.build}: they are "
            f"now those of {found}; set version to {version}, or use an image of {believed}"
        )
        findings.append(FOUND.broken(_VERSION, named, message))
    return EngineChoice(build=build_of(accelerator, version), image=chosen.image, findings=tuple(findings))


def _by_names(engine: Json, runtime_image: str) -> EngineChoice:
    """The engine by version, image and tag. Raises Invalid if spec.engine.version is not a version."""
    accelerator = Accelerator(engine.get("accelerator", Accelerator.NVIDIA))
    version: str | None = engine.get("version")
    image, runtime = engine.get("image") or "", engine.get("runtime")
    asked = build_of(accelerator, version)
    if version and not (image or runtime or runtime_image) and _differ(version, IMAGES[accelerator]):
        image = public_image(accelerator, version)
        message = (
            f"this release's image has {IMAGES[accelerator]}, so the pods run {image}; set spec.engine.image to the "
            "copy in your registry, or remove the version"
        )
        return EngineChoice(build=asked, image=image, findings=(CHOSEN.broken(_VERSION, version, message),))
    named = image or ("" if runtime else runtime_image)
    seen = _seen(named, accelerator)
    known = seen.version and (seen.certain or not version)
    build = build_of(accelerator, seen.version) if known else asked
    return EngineChoice(build=build, image=image, findings=tuple(_findings(engine, named, seen, asked)))


def _seen(image: str, accelerator: Accelerator) -> EngineImage:
    """What the image shows. A tag of this project alone, such as nvidia-0.1.0, has what its release has."""
    name, _, tag = image.rpartition("/")[2].partition("@")[0].partition(":")
    if name == OWN_IMAGE and tag == f"{accelerator}-{__version__}":
        return EngineImage(version=IMAGES[accelerator], certain=True)
    return engine_image(image)


def _findings(engine: Json, image: str, seen: EngineImage, asked: Build) -> Iterator[Finding]:
    accelerator, version = engine.get("accelerator", Accelerator.NVIDIA), engine.get("version")
    if seen.accelerator is not None and seen.accelerator != accelerator:
        message = (
            f"this image is built for {seen.accelerator}, and the accelerator is {accelerator}; correct one of them"
        )
        yield ELSEWHERE.broken(_IMAGE, image, message)
    if seen.version and version and _differ(version, seen.version):
        rule, shows = (DIFFERS, "has") if seen.certain else (MAY_DIFFER, "has, by its tag,")
        message = (
            f"the image {image} {shows} {seen.version}, and this is {version}: flags of another version can keep the "
            f"pods from starting; set version to {seen.version}, or use an image of {version}"
        )
        yield rule.broken(_VERSION, version, message)
    elif not seen.version and (engine.get("image") or engine.get("runtime")):
        yield from _unknown(engine, image, asked)


def _unknown(engine: Json, image: str, asked: Build) -> Iterator[Finding]:
    believed = f"rules and flags are those of {asked}"
    advice = "" if engine.get("version") else "; set spec.engine.version if the engine inside is another one"
    if image:
        yield UNKNOWN.broken(_IMAGE, image, f"its tag does not show the engine's version: {believed}{advice}")
    else:
        message = f"the image of this runtime is not known here: {believed}{advice}"
        yield UNKNOWN.broken(_RUNTIME, engine["runtime"], message)


def _differ(one: str, other: str) -> bool:
    """Whether two versions are different releases; a version without its third number is any of its minor release."""
    left, right = Version.parse(one), Version.parse(other)
    if (left.major, left.minor) != (right.major, right.minor):
        return True
    return left.patch != right.patch and one.count(".") >= 2 and other.count(".") >= 2
