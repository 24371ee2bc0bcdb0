"""Downloads one artifact into a PVC, once: the program of the staging Job, which the operator itself never runs.

It travels as text into KServe's storage-initializer image, after the files that it imports from here, as
`python3 -c TEXT CLAIM URI KEY [KEPT_KEY ...]`; else it needs the standard library and kserve_storage only.
"""

import contextlib
import fcntl
import importlib
import json
import logging
import os
import pathlib
import shutil
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any, Final

from specdec_operator.downloads.program.claim import arrived, checked, discard, files_of, publish, sweep, sweep_partials
from specdec_operator.downloads.program.failure import DownloadRefused, reason_of, without_secrets, words_of

_EVERY: Final = 2.0
"""Seconds between two lines of progress, and between two looks at a lock."""
_PATIENCE: Final = 60.0
"""Seconds that a pod waits for another one of the same key: a pod that must stop has half of that."""
_LAST_WORDS: Final = os.environ.get("TERMINATION_LOG", "/dev/termination-log")


def main(arguments: list[str]) -> int:
    """Brings the artifact, then removes what is not kept. Returns the exit status."""
    claim, uri, key = pathlib.Path(arguments[0]), arguments[1], arguments[2]
    partial = claim / f".partial-{key}-{socket.gethostname()}-{os.getpid()}"
    keep, began = {key, *arguments[3:]}, time.time()
    _remove_on_sigterm(partial)
    _log_without_secrets()
    freed = sweep_partials(claim, keep, began)
    try:
        with _alone(claim, key):
            there = arrived(claim, key)
            marker = there or _fetch(claim, uri, key, partial)
    except Exception as error:  # whatever it is, the user sees it
        return _failed(error, claim, partial)
    freed += sweep(claim, keep, began)
    told = {"bytes": marker["bytes"], "files": len(marker["files"]), "seconds": marker["seconds"]}
    _say({"done": {**told, "already": there is not None, "freed": freed}})
    return 0


def _fetch(claim: pathlib.Path, uri: str, key: str, partial: pathlib.Path) -> dict[str, Any]:
    """Makes `CLAIM/KEY`; returns its marker."""
    discard(claim, key)
    started = time.monotonic()
    partial.mkdir()
    with _progress(partial, started):
        importlib.import_module("kserve_storage").Storage.download(uri, str(partial))
        for history in (".cache", ".git"):  # of huggingface_hub and of git: nothing that an engine reads
            shutil.rmtree(partial / history, ignore_errors=True)
        files = checked(partial)
    marker = {
        "uri": without_secrets(uri),
        "files": files,
        "bytes": sum(files.values()),
        "seconds": round(time.monotonic() - started, 1),
        "fetched_at": round(time.time(), 3),
    }
    publish(claim, key, partial, marker)
    return marker


@contextlib.contextmanager
def _alone(claim: pathlib.Path, key: str) -> Iterator[None]:
    """Waits until no other pod is at work on this key. Goes on without waiting if the file system has no locks."""
    until = time.monotonic() + _PATIENCE
    with (claim / f".lock-{key}").open("w") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise DownloadRefused(
                        "DownloadFailed", f"another pod is downloading this artifact ({lock.name})"
                    ) from None
                time.sleep(_EVERY)
            except OSError:
                break
        yield


@contextlib.contextmanager
def _progress(folder: pathlib.Path, started: float) -> Iterator[None]:
    """Prints every two seconds how much has arrived."""
    over = threading.Event()

    def tell() -> None:
        while not over.wait(_EVERY):
            _say({"bytes": sum(files_of(folder).values()), "seconds": round(time.monotonic() - started, 1)})

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _say(line: dict[str, Any]) -> None:
    """One line of JSON. Past Python's buffer: a process that is forked for S3 would inherit that with its lock."""
    os.write(1, f"{json.dumps(line)}\n".encode())


def _failed(error: Exception, claim: pathlib.Path, partial: pathlib.Path) -> int:
    """Writes the reason as JSON into the termination message; returns the exit status."""
    reason, words = reason_of(error), words_of(error)
    came = sum(files_of(partial).values())
    shutil.rmtree(partial, ignore_errors=True)
    if reason == "DiskFull":
        disk = shutil.disk_usage(claim)
        room = f"{came} downloaded bytes were removed, and {disk.free} of the PVC's {disk.total} bytes are free"
        words = f"not enough space for the artifact: {room}; raise spec.staging.claim.storage ({words})"
    if isinstance(error, PermissionError):
        words = f"user {os.getuid()} may not write to the PVC: {words}"
    told = {"reason": reason, "message": words}
    with contextlib.suppress(OSError), open(_LAST_WORDS, "w") as file:
        file.write(json.dumps(told))
    _say({"failed": told})
    return 1


def _log_without_secrets() -> None:
    """Passes on the libraries' warnings, and nothing in them that is named like a secret."""

    class Clean(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return without_secrets(super().format(record))

    handler = logging.StreamHandler()
    handler.setFormatter(Clean("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING)


def _remove_on_sigterm(partial: pathlib.Path) -> None:
    """Ends on SIGTERM without leaving bytes behind. The processes that are forked for S3 die of it as ever."""

    def stop(*_: object) -> None:
        for _again in range(3):  # threads and processes of the download still write
            shutil.rmtree(partial, ignore_errors=True)
        os._exit(143)

    signal.signal(signal.SIGTERM, stop)
    os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_die_of_sigterm)


def _hold() -> None:
    """A SIGTERM that meets a process while it is being forked would be forgotten, and who sent it wait for ever."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})


def _release() -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})


def _die_of_sigterm() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _release()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
