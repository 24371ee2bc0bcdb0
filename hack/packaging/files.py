"""The files of a release's page: wheel, source archive, the plugin's archives, the pages of this version, CRD, samples.

The same commit gives the same bytes where SOURCE_DATE_EPOCH is set, as the release does.
"""

import os
import pathlib
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import Final

from hack.cluster import shell
from hack.packaging import plugin
from specdec_operator import __version__

FOLDER: Final = plugin.ROOT / "dist" / "files"
PAGES: Final = f"specdec-operator-docs-{__version__}.tar.gz"
SAMPLES: Final = f"specdec-operator-samples-{__version__}.tar.gz"
_SECONDS: Final = 600.0


def build(
    folder: pathlib.Path,
    base: str,
    say: Callable[[str], None],
    platforms: Sequence[plugin.PluginPlatform] = plugin.PLATFORMS,
) -> list[pathlib.Path]:
    """Write every file into an empty folder. base: the address that the files will have. Raises ClusterError."""
    folder.mkdir(parents=True, exist_ok=True)
    plugin.packages(folder)
    say("built     wheel and source archive")
    plugin.plugin(base, tuple(platforms), folder)
    say(f"built     {len(platforms)} archives of the kubectl plugin, and krew's manifest")
    _pages(folder / PAGES)
    say("built     the pages of this version")
    shutil.copy(plugin.ROOT / "crds" / "serving.specdec.io_speculativeinferenceservices.yaml", folder)
    (folder / SAMPLES).write_bytes(plugin.packed(plugin.ROOT / "manifests" / "samples"))
    return sorted(folder.iterdir())


def _pages(target: pathlib.Path) -> None:
    """Build the site of this version; one warning fails it."""
    with tempfile.TemporaryDirectory() as site:
        command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", f"--site-dir={site}"]
        command.append(f"--config-file={plugin.ROOT / 'mkdocs.yml'}")
        shell.run(command, timeout=_SECONDS, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"})
        target.write_bytes(plugin.packed(pathlib.Path(site)))
