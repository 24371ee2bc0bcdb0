"""Reads a Dockerfile for a target: the images that it stands on, and the files of the repository that it takes."""

import pathlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

ROOT: Final = pathlib.Path(__file__).parents[2]
RUNTIME: Final = "Dockerfile.runtime"
FILES: Final = {"operator": "Dockerfile.operator", "cpu": RUNTIME, "nvidia": RUNTIME, "ascend": RUNTIME}
"""The Dockerfile of each image that is released, by target."""
_DIGEST: Final = re.compile(r"\S+@sha256:[0-9a-f]{64}")
_INSTRUCTION: Final = re.compile(r"^(ARG|FROM|COPY)\s+(.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """One image that a target stands on. argument: the build argument that names it, empty where none does."""

    argument: str
    image: str

    @property
    def pinned(self) -> bool:
        """Whether it is the same image tomorrow."""
        return _DIGEST.fullmatch(self.image) is not None


@dataclass(slots=True, kw_only=True)
class _Stage:
    base: str
    stages: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)


def default(file: str, argument: str, root: pathlib.Path = ROOT) -> str:
    """Return the default of a build argument. Raises KeyError for an argument that the file does not have."""
    return _arguments((root / file).read_text(encoding="utf-8"))[argument]


def bases(target: str, given: Mapping[str, str], root: pathlib.Path = ROOT) -> tuple[Base, ...]:
    """Return the images that a target stands on, with these build arguments. Raises KeyError for no target."""
    text = (root / FILES[target]).read_text(encoding="utf-8")
    values = _arguments(text) | {name: value for name, value in given.items() if value}
    found = []
    for stage in _needed(target, _stages(text)):
        argument = re.fullmatch(r"\$\{(\w+)\}", stage.base)
        image = values[argument[1]] if argument else stage.base
        if image != "scratch" and image not in _stages(text):
            found.append(Base(argument=argument[1] if argument else "", image=image))
    return tuple(dict.fromkeys(found))


def files(target: str, root: pathlib.Path = ROOT) -> tuple[str, ...]:
    """Return the files of the repository that a target copies, and its Dockerfile; folders are not among them."""
    text = (root / FILES[target]).read_text(encoding="utf-8")
    names = {name for stage in _needed(target, _stages(text)) for name in stage.files}
    return (FILES[target], *sorted(name for name in names if (root / name).is_file()))


def faults(target: str, given: Mapping[str, str], root: pathlib.Path = ROOT) -> list[str]:
    """What a release of this target may not stand on: a sentence each."""
    return [
        f"{FILES[target]}, target {target}: it stands on {each.image!r}, which has no digest: a release stands on "
        f"NAME@sha256:HEX. Name it in build argument {each.argument or 'BASE_IMAGE'}; "
        f"`docker buildx imagetools inspect {each.image}` prints the digest"
        for each in bases(target, given, root)
        if not each.pinned
    ]


def _needed(target: str, stages: Mapping[str, _Stage]) -> Iterator[_Stage]:
    """The stage of a target, and those that it comes from."""
    waiting, seen = [target], set()
    while waiting:
        name = waiting.pop()
        if name in stages and name not in seen:
            seen.add(name)
            yield stages[name]
            waiting += [stages[name].base, *stages[name].stages]
        elif name == target:
            raise KeyError(f"no stage {target}")


def _stages(text: str) -> dict[str, _Stage]:
    found: dict[str, _Stage] = {}
    stage = _Stage(base="")
    for kind, words in _INSTRUCTION.findall(text.replace("\\\n", " ")):
        parts = words.split()
        match kind:
            case "FROM":
                stage = found[parts[-1]] = _Stage(base=parts[0])
            case "COPY" if parts[0].startswith("--from="):
                stage.stages.append(parts[0].removeprefix("--from="))
            case "COPY":
                stage.files += parts[:-1]
    return found


def _arguments(text: str) -> dict[str, str]:
    return dict(re.findall(r"^ARG (\w+)=\"?([^\"\s]*)\"?$", text.partition("\nFROM ")[0], re.MULTILINE))
