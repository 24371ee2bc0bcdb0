#!/usr/bin/env python3
"""Starts specdec out of the archive of the kubectl plugin: what it needs lies beside it, for each Python it runs on."""

import os
import sys


def start() -> None:
    """Run the command. An older Python must be able to read this file, and report that it is too old."""
    here = os.path.dirname(os.path.realpath(__file__))
    known = sorted(each for each in os.listdir(here) if each.startswith("py3."))
    own = "py%d.%d" % sys.version_info[:2]  # noqa: UP031
    if own not in known:
        words = ", ".join(each[2:] for each in known)
        sys.exit("specdec needs Python " + words + " as python3 on PATH; this one is " + sys.version.split()[0])
    sys.path[:0] = [os.path.join(here, own), os.path.join(here, "common")]
    from specdec_command.cli.main import main  # noqa: PLC0415

    main()


if __name__ == "__main__":
    start()
