"""python -m hack.docs.versions MAIN ARCHIVES OUT    a site with the pages of main and of each release, side by side

MAIN: the site as `make docs` builds it. ARCHIVES: a folder with the archive of the pages of each release. OUT: an empty
folder. The list that Material's selector of versions reads is versions.json. Standard library only.
"""

import json
import pathlib
import re
import shutil
import sys
import tarfile
from collections.abc import Iterable
from typing import Any, Final

MAIN: Final = "main"
_ARCHIVE: Final = re.compile(r"specdec-operator-docs-(\d+\.\d+\.\d+)\.tar\.gz")
_FRONT: Final = """\
<!doctype html>
<meta charset="utf-8">
<title>specdec-operator</title>
<meta http-equiv="refresh" content="0; url={version}/index.html">
<a href="{version}/index.html">specdec-operator {version}</a>
"""


def newest_first(versions: Iterable[str]) -> list[str]:
    """Return releases in the order of their numbers: 0.10.0 comes before 0.9.0."""
    return sorted(versions, key=lambda each: [int(part) for part in each.split(".")], reverse=True)


def listed(releases: Iterable[str]) -> list[dict[str, Any]]:
    """Return what versions.json has: the releases, the newest first, and main."""
    ordered = newest_first(releases)
    latest = [{"version": each, "title": each, "aliases": ["latest"] * (each == ordered[0])} for each in ordered]
    return [*latest, {"version": MAIN, "title": MAIN, "aliases": []}]


def assemble(main: pathlib.Path, archives: pathlib.Path, out: pathlib.Path) -> list[str]:
    """Write the site, whose front page leads to the newest release; return the versions."""
    found = {match[1]: file for file in archives.glob("*.tar.gz") if (match := _ARCHIVE.fullmatch(file.name))}
    shutil.copytree(main, out / MAIN)
    for version, file in found.items():
        with tarfile.open(file) as archive:
            archive.extractall(out / version, filter="data")
    versions = listed(found)
    (out / "versions.json").write_text(json.dumps(versions, indent=1), encoding="utf-8")
    (out / "index.html").write_text(_FRONT.format(version=versions[0]["version"]), encoding="utf-8")
    return [each["version"] for each in versions]


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    print(*assemble(*(pathlib.Path(each) for each in sys.argv[1:])), sep="\n")
