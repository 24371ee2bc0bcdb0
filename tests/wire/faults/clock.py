"""The wall clock of one process, which a test sets; its monotonic clock goes on. A stand-in for a machine's clock."""

import os
import pathlib

from hack.faketime import package


class Clock:
    """Right at first. environment: what the process is started with."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._file = folder / "clock"
        self.set(0)
        self.environment = {
            "LD_PRELOAD": str(package.ensure()),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }

    def set(self, seconds: int) -> None:
        """Sets it so many seconds ahead of the right time."""
        new = self._file.with_suffix(".new")
        new.write_text(f"{seconds:+d}\n")
        os.replace(new, self._file)
