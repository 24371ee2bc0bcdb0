"""Asks an image for GPUs or NPUs all that it can answer without one, and keeps the answers."""

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from hack.images import box, tool

from lab.verdicts import samples

_PLACE: Final = "/trial"
_TINY: Final = f"{_PLACE}/tiny"
_LAST_WORDS: Final = "last-words.json"
_SECONDS: Final = 1800
_MOST: Final = 700
# In the order of a start. Each is answered as the image is, and again with stand-ins where it could not be.
_HELP: Final = "vllm serve --help"
QUESTIONS: Final = {
    _HELP: ("vllm", "serve", "--help"),
    "preflight of a tiny model": ("python3", "-m", "specdec_runtime", "preflight", _TINY),
    "plugins": ("python3", "-m", "lab.trial.inside"),
    "serve": ("python3", "-m", "specdec_runtime", "serve", f"--model={_TINY}", "--max-model-len=128", "--port=18099"),
}
_BUILDAHS: Final = re.compile(r"^(Error: )?(exit status|subprocess exited|exiting with)|while running runtime")
_MUST_REFUSE: Final = "serve"
STAND_INS: Final = {
    "nvidia": {"LD_LIBRARY_PATH": f"{_PLACE}/standins"},
    "ascend": {
        "LD_LIBRARY_PATH": f"{_PLACE}/standins",
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
        "ASCEND_HOME_PATH": f"{_PLACE}/cann",
        "ASCEND_TOOLKIT_HOME": f"{_PLACE}/cann",
        "ASCEND_OPP_PATH": f"{_PLACE}/cann/opp",
    },
}
_MISSING: Final = {"nvidia": "cuda", "ascend": "cann"}
"""What stands in for the device's libraries."""
_PLATFORM: Final = {"nvidia": "cuda", "ascend": "npu"}
"""What the verdicts' harness calls the pretended device."""
_QUIET: Final = {
    "PYTHONPATH": f"{box.SOURCE}:/opt/specdec",
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "VLLM_LOGGING_LEVEL": "WARNING",
    "HUMMING_DISABLE_PARALLEL_BUILD": "1",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialImage:
    """An image, and how a command is run in it: the words before the command's own variables."""

    run: tuple[str, ...]
    folder: Path

    def ask(self, words: Sequence[str], more: Mapping[str, str]) -> dict[str, Any]:
        """Run one command; return its exit code, its seconds and its final error."""
        variables = {**_QUIET, "TERMINATION_LOG": f"{_PLACE}/{_LAST_WORDS}", **more}
        command = [*self.run, "env", *(f"{name}={value}" for name, value in variables.items()), *words]
        started = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS)
        lines = [line for line in (done.stdout + "\n" + done.stderr).splitlines() if line.strip()]
        found = {"code": done.returncode, "seconds": round(time.monotonic() - started, 1), "said": done.stdout}
        return found | {"words": _last(lines) if done.returncode else ""}


def _last(lines: list[str]) -> str:
    """The cause of a failure: the last line that names an error, else the last line; buildah adds some of its own."""
    lines = [line for line in lines if not _BUILDAHS.search(line)]
    errors = [line for line in lines if "Error" in line or "rror:" in line]
    return " ".join((errors or lines or [""])[-1].split())[:_MOST]


@contextmanager
def opened(builder: tool.Tool, ref: str, folder: Path) -> Iterator[TrialImage]:
    """An image for the length of a block; a folder of this machine is /trial in it."""
    if builder.kind is tool.ImageTool.BUILDAH:
        with tool.container("--pull-never", ref) as name:
            yield running(name, folder)
        return
    yield TrialImage(
        run=(builder.kind, "run", "--rm", "--entrypoint=", "--shm-size=1g", *_options(folder), ref), folder=folder
    )


def running(container: str, folder: Path) -> TrialImage:
    """A working container of buildah's in the place of an image."""
    run = ("buildah", "run", "--isolation=chroot", "--network=host", *_options(folder), container)
    return TrialImage(run=run, folder=folder)


def _options(folder: Path) -> tuple[str, ...]:
    """As the user who calls, so that what is written belongs to them."""
    return (f"--user={os.getuid()}:{os.getgid()}", *box.sources(), f"--volume={folder}:{_PLACE}")


@dataclass(kw_only=True, slots=True)
class Answers:
    """The answers of an image. questions: by question, one answer or two; samples: each sample's configuration."""

    questions: list[dict[str, Any]] = field(default_factory=list)
    samples: list[dict[str, Any]] = field(default_factory=list)
    warm: float = 0.0
    functions: str = ""


def ask_all(image: TrialImage, kind: str) -> Answers:
    """Ask everything."""
    answers = Answers()
    for name, words in QUESTIONS.items():
        plain = _answer(image, name, words, {})
        answers.questions.append({"question": name, "with": "the image as it is", **plain})
        if not _as_hoped(name, plain) or kind == "ascend":
            _stand_ins(image, kind, answers)
            again = _answer(image, name, words, STAND_INS[kind])
            answers.questions.append({"question": name, "with": "stand-ins", **again})
    _stand_ins(image, kind, answers)
    if kind == "nvidia":  # vLLM prints no help where it finds no device
        words = ("python3", "-m", "lab.verdicts.pretend", _PLATFORM[kind], *QUESTIONS[_HELP][1:])
        answers.questions.append({"question": _HELP, "with": "a pretended device", **_answer(image, _HELP, words, {})})
    _configure(image, kind, answers)
    return answers


def _as_hoped(name: str, answer: Mapping[str, Any]) -> bool:
    return bool(answer["code"]) is (name == _MUST_REFUSE)


def _answer(image: TrialImage, name: str, words: Sequence[str], more: Mapping[str, str]) -> dict[str, Any]:
    last = image.folder / _LAST_WORDS
    last.unlink(missing_ok=True)
    found = image.ask(words, more)
    said = found.pop("said")
    if name == "plugins" and not found["code"]:
        found["words"] = said.splitlines()[-1]
    if name == _MUST_REFUSE and last.exists():
        found["refusal"] = json.loads(last.read_text(encoding="utf-8"))
    return found


def _stand_ins(image: TrialImage, kind: str, answers: Answers) -> None:
    """Compile the stand-ins inside the image, once: both images keep a compiler."""
    if answers.functions:
        return
    for part in ("opp", "compiler", "runtime", "python/site-packages"):
        (image.folder / "cann" / part).mkdir(parents=True, exist_ok=True)
    found = image.ask(("python3", "-m", "lab.verdicts.standin", _MISSING[kind], f"{_PLACE}/standins"), {})
    answers.functions = found["said"].strip() or found["words"]


def _configure(image: TrialImage, kind: str, answers: Answers) -> None:
    """Have the engine configure every sample on a pretended device, by the harness of the verdicts."""
    cases, out = image.folder / "cases.jsonl", image.folder / "verdicts.jsonl"
    samples.written(kind, cases)
    shutil.copy(samples.KINDS, image.folder / "kinds.json")
    given = [f"--{name}={_PLACE}/{file}" for name, file in (("models", "kinds.json"), ("out", out.name))]
    words = ("python3", "-m", "lab.verdicts.ask", f"--platform={_PLATFORM[kind]}", *given, f"{_PLACE}/{cases.name}")
    found = image.ask(words, STAND_INS[kind])
    answers.warm = found["seconds"]
    lines = out.read_text(encoding="utf-8").splitlines() if out.exists() else []
    said = {each["id"]: each for each in map(json.loads, lines)}
    for case in map(json.loads, cases.read_text(encoding="utf-8").splitlines()):
        answers.samples.append(sample(case["id"], said.get(case["id"]), found["words"]))


def sample(case: str, said: Mapping[str, Any] | None, otherwise: str) -> dict[str, Any]:
    """A row of the page. `said`: the engine's verdict. otherwise: why there is none."""
    name = case.removeprefix(samples.PREFIX)
    if said is None or not said["ok"]:
        return {"name": name, "ok": False, "error": otherwise if said is None else " ".join(said["error"].split())}
    settled = said["resolved"]
    return {"name": name, "ok": True, "method": settled.get("method"), "tokens": settled.get("num_speculative_tokens")}
