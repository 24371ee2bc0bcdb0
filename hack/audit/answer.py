"""What pip-audit answered, read strictly: a package that it skipped is one of which nothing is known."""

import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Weakness:
    """Something known against a package. mended: the versions in which it is gone, none where there is none yet."""

    package: str
    version: str
    name: str
    mended: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The packages about which the index said something, those about which it did not, and what it said."""

    asked: tuple[str, ...]
    silent: tuple[str, ...]
    weaknesses: tuple[Weakness, ...]

    @property
    def code(self) -> int:
        """The exit code: 0 only where all were audited and nothing is known, 1 for a weakness, 2 for silence."""
        if self.weaknesses:
            return 1
        return 2 if self.silent or not self.asked else 0

    def lines(self) -> list[str]:
        """The answer for people."""
        found = [
            f"{each.package} {each.version}: {each.name}, "
            + (f"mended in {', '.join(each.mended)}" if each.mended else "not mended in any version yet")
            for each in self.weaknesses
        ]
        if self.silent:
            found.append(
                f"not audited: the index gives no advisories for {len(self.silent)} of "
                f"{len(self.silent) + len(self.asked)} packages, among them {', '.join(self.silent[:3])}"
            )
        return [*found, f"audited: {len(self.asked)} packages, {len(self.weaknesses)} known weaknesses"]


def read(text: str) -> Answer:
    """From the JSON of pip-audit. Raises ValueError where it is none."""
    found = json.loads(text)
    if not isinstance(found, dict) or "dependencies" not in found:
        raise ValueError("pip-audit wrote no list of dependencies")
    packages = found["dependencies"]
    return Answer(
        asked=tuple(each["name"] for each in packages if "skip_reason" not in each),
        silent=tuple(each["name"] for each in packages if "skip_reason" in each),
        weaknesses=tuple(
            Weakness(package=each["name"], version=each["version"], name=one["id"], mended=tuple(one["fix_versions"]))
            for each in packages
            for one in each.get("vulns", ())
        ),
    )
