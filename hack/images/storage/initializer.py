"""Downloads artifacts into folders, one after the other, as KServe's download container does.

python3 initializer.py URI FOLDER [URI FOLDER ...]

Credentials come from the environment, in KServe's names for them. An error is the end of standard error, which
Kubernetes takes for the container's termination message.
"""

from __future__ import annotations

import sys

from kserve_storage import Storage, configure_logging  # type: ignore[import-not-found]


def main(words: list[str]) -> int:
    """Download everything; the first failure ends it."""
    if not words or len(words) % 2:
        print(__doc__, file=sys.stderr)
        return 2
    configure_logging()
    Storage.download_files(words[::2], words[1::2])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
