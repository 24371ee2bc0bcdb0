"""A stand-in for the PyPI package kserve-storage where the tests run the staging program: it copies local folders.

Its URIs: `copy:FOLDER`, `forked:FOLDER` (by child processes that are ended by SIGTERM, as for S3), `slow:FOLDER` (half
a file, then a pause, and so on), `full:FOLDER`, `denied:FILE` and `fails:WORDS`. Each call is noted in the file that
CALLS names.
"""

import errno
import logging
import multiprocessing
import os
import pathlib
import shutil
import signal
import time


class Storage:
    """The one class of the package, with the one method that the program calls."""

    @staticmethod
    def download(uri: str, out_dir: str) -> str:
        """Copies what the URI names."""
        with open(os.environ["CALLS"], "a") as calls:
            calls.write(f"{uri}\n")
        how, _, what = uri.partition(":")
        _WAYS[how](what, out_dir)
        return out_dir


def _copy(folder: str, out_dir: str) -> None:
    shutil.copytree(folder.partition("?")[0], out_dir, dirs_exist_ok=True)


def _forked(folder: str, out_dir: str) -> None:
    for _ in range(20):  # ended before they have done a thing, as a pool ends those that came too late for any work
        child = os.fork()
        if child == 0:
            signal.pause()
        os.kill(child, signal.SIGTERM)
        os.waitpid(child, 0)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        pool.starmap(shutil.copy, [(str(each), out_dir) for each in pathlib.Path(folder).iterdir()])


def _slow(folder: str, out_dir: str) -> None:
    for each in sorted(pathlib.Path(folder).iterdir()):
        content = each.read_bytes()
        pathlib.Path(out_dir, each.name).write_bytes(content[: len(content) // 2])
        time.sleep(float(os.environ.get("PAUSE", "60")))
        shutil.copy(each, out_dir)


def _full(folder: str, out_dir: str) -> None:
    pathlib.Path(out_dir, "config.json").write_text("{")
    raise RuntimeError("the download failed") from OSError(errno.ENOSPC, "No space left on device", folder)


def _denied(file: str, out_dir: str) -> None:
    raise PermissionError(errno.EACCES, "Permission denied", file)


def _fails(words: str, out_dir: str) -> None:
    logging.getLogger("storage.initializer").error("failed with %s", words)
    raise RuntimeError(words)


_WAYS = {"copy": _copy, "forked": _forked, "slow": _slow, "full": _full, "denied": _denied, "fails": _fails}
