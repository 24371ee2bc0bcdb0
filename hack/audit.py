"""What the operator's image and wheel are made of, in CycloneDX 1.6, and an audit of it by the index's own advisories.

python -m hack.audit sbom      writes dist/sbom/operator.cdx.json
python -m hack.audit check     asks pip-audit: 0 nothing is known, 1 something is, 2 not all was audited, 3 no index
python -m hack.audit           both

`make audit` accepts 3, because many machines reach a mirror of PyPI only, which has no advisories. CI does not.
"""

import json
import pathlib
import sys
import tempfile
from dataclasses import dataclass

from hack.cluster import shell
from hack.cluster.errors import ClusterError
from hack.images import locked, sbom

_EXPORT = ("export", "--quiet", "--frozen", "--no-emit-project", "--no-annotate", "--no-header", "--extra=cli")
_MAKES_SBOM = "cyclonedx-bom==7.5.0"
_AUDITS = "pip-audit==2.10.1"
_SECONDS = 600.0
_FAILED, _NO_INDEX = 2, 3


class NoIndexError(ClusterError):
    """No index could be asked for advisories."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weakness:
    """Something known against a package. mended: the versions in which it is gone, none where there is none yet."""

    package: str
    version: str
    name: str
    mended: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditAnswer:
    """The packages that the index has data for, those that it has none for, and the weaknesses that it listed."""

    asked: tuple[str, ...]
    silent: tuple[str, ...]
    weaknesses: tuple[Weakness, ...]

    @property
    def code(self) -> int:
        """The exit code: 0 only if all were audited and nothing is known, 1 for a weakness, 2 and 3 for silence."""
        if self.weaknesses:
            return 1
        if not self.asked:
            return _NO_INDEX
        return _FAILED if self.silent else 0

    def lines(self) -> list[str]:
        """The answer for people."""
        if not self.asked:
            return [_no_index(f"the index gives no advisories for any of the {len(self.silent)} packages")]
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


def _no_index(why: str) -> str:
    return (
        f"not audited, no index with advisories: {why}. This says nothing about the packages. Run `make audit` where "
        "PyPI itself answers, or the workflow ci in a fork"
    )


def read(text: str) -> AuditAnswer:
    """Reads the JSON of pip-audit. Raises ValueError if the text is not such JSON."""
    found = json.loads(text)
    if not isinstance(found, dict) or "dependencies" not in found:
        raise ValueError("pip-audit wrote no list of dependencies")
    packages = found["dependencies"]
    return AuditAnswer(
        asked=tuple(each["name"] for each in packages if "skip_reason" not in each),
        silent=tuple(each["name"] for each in packages if "skip_reason" in each),
        weaknesses=tuple(
            Weakness(package=each["name"], version=each["version"], name=one["id"], mended=tuple(one["fix_versions"]))
            for each in packages
            for one in each.get("vulns", ())
        ),
    )


def requirements() -> str:
    """Everything that is installed with the operator and the command, of uv.lock, with hashes."""
    done = locked.ask_uv(*_EXPORT)
    if done.returncode != 0:
        raise ClusterError(f"uv cannot export uv.lock: {done.stderr.strip()}")
    return done.stdout


def write_sbom(asked: pathlib.Path, target: pathlib.Path) -> int:
    """Writes the document; returns how many packages it names. Raises ClusterError where it is not CycloneDX 1.6."""
    words = ["requirements", "--sv", "1.6", "--output-reproducible", f"--pyproject={locked.ROOT / 'pyproject.toml'}"]
    text = shell.run([*_tool(_MAKES_SBOM, "cyclonedx-py"), *words, str(asked)], timeout=_SECONDS)
    if fault := sbom.fault_of(text):
        raise ClusterError(f"{_MAKES_SBOM} wrote no CycloneDX: {fault}")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    return text.count('"purl": "pkg:pypi/')


def audit(asked: pathlib.Path) -> AuditAnswer:
    """Asks for every package. Raises NoIndexError if pip-audit cannot be had, or gives up."""
    words = [
        "--requirement",
        str(asked),
        "--disable-pip",
        "--require-hashes",
        "--format=json",
        "--progress-spinner=off",
    ]
    said = shell.ask([*_tool(_AUDITS, "pip-audit"), *words], timeout=_SECONDS)
    try:
        return read(said.out)
    except ValueError as error:
        raise NoIndexError(_no_index(f"pip-audit ended with code {said.code}: {said.err.strip()[-300:]}")) from error


def _tool(package: str, program: str) -> list[str]:
    uv = pathlib.Path(sys.executable).with_name("uv")
    return [str(uv), "tool", "run", "--quiet", "--from", package, program]


def main(words: list[str]) -> int:
    """Runs the command; returns its exit code."""
    with tempfile.TemporaryDirectory() as folder:
        asked = pathlib.Path(folder) / "requirements.txt"
        asked.write_text(requirements(), encoding="utf-8")
        if words in ([], ["sbom"]):
            target = sbom.FOLDER / "operator.cdx.json"
            print(f"{write_sbom(asked, target)} packages: {target.relative_to(locked.ROOT)}")
        if words not in ([], ["check"]):
            return 0
        found = audit(asked)
    print("\n".join(found.lines()))
    return found.code


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except ClusterError as error:
        print(error, file=sys.stderr)
        sys.exit(_NO_INDEX if isinstance(error, NoIndexError) else _FAILED)
