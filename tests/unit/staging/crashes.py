"""Runs the program of the staging Job again and again, ended without a word before its first, second, ... change of the
file system, and each time once more undisturbed. Prints what came of each crash.

Arguments: the program's text, the PVC's content before, the model, the PVC, and the key of the artifact.
"""

import importlib
import json
import os
import pathlib
import shutil
import sys
from typing import Any

PRELOADED = ("importlib", "logging", "multiprocessing", "threading")
"""Of the program, so that not each of its runs loads them."""
CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod"}


class Crashes:
    """The program, and the folders that it works on."""

    def __init__(self, text: str, before: str, model: str, claim: str, key: str) -> None:
        self.program = compile(text, "program", "exec")
        self.before, self.model, self.claim = pathlib.Path(before), pathlib.Path(model), pathlib.Path(claim)
        self.key = key

    def crash(self, last: int) -> dict[str, Any]:
        """What came of a run that ended before its change number `last`, and of the run after it."""
        shutil.rmtree(self.claim, ignore_errors=True)
        shutil.copytree(self.before, self.claim)
        code, found, downloaded = self._run(last), self._there(), _calls()
        mended = [self._run(10**6), self._there(), *sorted(each.name for each in self.claim.iterdir())]
        return {"code": code, "found": found, "mended": mended, "downloads": _calls() - downloaded}

    def _run(self, last: int) -> int:
        child = os.fork()
        if child:
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        left = last

        def watch(event: str, args: tuple[Any, ...]) -> None:
            nonlocal left
            writes = event == "open" and str(args[0]).startswith(str(self.claim)) and (args[2] or 0) & 3
            if event in CHANGES or writes:
                left -= 1
                if left < 0:
                    os._exit(137)

        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.addaudithook(watch)
        os.fsync = lambda fd: None  # a crash of the process, not of the machine
        sys.argv = ["-c", str(self.claim), f"copy:{self.model}", self.key]
        try:
            exec(self.program, {"__name__": "__main__"})  # noqa: S102 - as the Job does
        except SystemExit as end:
            os._exit(int(end.code or 0))
        os._exit(0)

    def _there(self) -> str:
        served: dict[str, dict[str, bytes]] = {
            "nothing": {},
            "the old one": _files(self.before / self.key),
            "whole": _files(self.model),
        }
        return next((name for name, found in served.items() if found == _files(self.claim / self.key)), "half")


def _files(folder: pathlib.Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*")}


def _calls() -> int:
    return len(pathlib.Path(os.environ["CALLS"]).read_text().splitlines())


if __name__ == "__main__":
    for name in PRELOADED:
        importlib.import_module(name)
    crashes = Crashes(*sys.argv[1:])
    for number in range(200):
        result = crashes.crash(number)
        print(json.dumps(result))
        if result["code"] == 0:
            break
