"""What a command starts, by its arguments: an engine, a script for a shell, or something else. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from specdec_operator.shell.docker import run_of
from specdec_operator.shell.word import Word

_ASSIGNED: Final = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_SHELL: Final = re.compile(r"(?:ba|da|z|k|a|mk)?sh")
_PYTHON: Final = re.compile(r"python[0-9.]*|pypy[0-9.]*")
_OPTIONS_OF_PYTHON: Final = frozenset({"-W", "-X", "-Q"})
_WRAPPERS: Final[Mapping[str, tuple[str, int]]] = MappingProxyType(
    {
        **dict.fromkeys(("builtin", "catchsegv", "command", "coproc", "nohup", "setsid", "time", "tini"), ("", 0)),
        "dumb-init": ("-r --rewrite", 0),
        "env": ("-u --unset -C --chdir", 0),
        "exec": ("-a", 0),
        "ionice": ("-c --class -n --classdata -p", 0),
        "nice": ("-n --adjustment", 0),
        "numactl": ("-C -N -m -i -p -l --physcpubind --cpunodebind --membind --interleave --preferred", 0),
        "stdbuf": ("-i -o -e --input --output --error", 0),
        "sudo": ("-u -g -C -h -p --user --group", 0),
        "taskset": ("", 1),
        "timeout": ("-k --kill-after -s --signal", 1),
        "xvfb-run": ("-n -e -s", 0),
    }
)
"""Programs that start the one behind them: their options with a value, and how many words stand before it."""
_UNSET: Final = (("env", "-u"), ("env", "--unset"))
_MOST_WRAPPERS: Final = 8
_STARTS_NONE: Final = frozenset(
    {
        *("echo", "printf", "cat", "grep", "egrep", "sed", "awk", "test", "[", ":", "true", "false", "pkill", "pgrep"),
        *(
            "pip",
            "pip3",
            "apt-get",
            "apt",
            "ls",
            "mkdir",
            "cp",
            "mv",
            "rm",
            "ln",
            "curl",
            "wget",
            "sleep",
            "wait",
            "cd",
        ),
        *("set", "shift", "trap", "kill", "chmod", "chown", "which", "type", "hash", "ulimit", "umask", "read", "let"),
        *("source", ".", "unset", "export", "tee", "exit", "return", "jq", "date", "git", "touch", "uv", "nvidia-smi"),
        *("helm", "kubectl"),
    }
)
"""Programs that start no engine, whatever their arguments are."""


_NO_MODELS: Final = frozenset(
    {
        *(
            "accelerate",
            "conda",
            "deepspeed",
            "llamafactory-cli",
            "mpirun",
            "pipenv",
            "poetry",
            "ray",
            "sglang",
            "srun",
        ),
        *("torchrun", "uvicorn", "uvx"),
    }
)
"""More programs that people write in front of an engine, or in place of one: none of them is the name of a model."""


class Kind(StrEnum):
    """What starts an engine."""

    VLLM = "vllm serve"
    SERVER = "vLLM's API server"
    KSERVE = "KServe's own server"
    IMAGE = "the program of the image"
    CONTAINER = "the program of the image that docker runs"
    OTHER = "a program that is not known here"


class Given(StrEnum):
    """Where the words of a command come from."""

    SCRIPT = "a shell"
    COMMAND = "a container, or a typed line, that names its program"
    ARGS = "one that may leave the program to the image"


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """An engine that a command starts. words: behind the program. env: set by the command itself; None: taken away.

    beside: what else the command sets, such as options of `docker run`. doubt: why the words may not be the engine's.
    """

    kind: Kind
    words: tuple[Word, ...]
    env: tuple[tuple[str, Word | None], ...] = ()
    beside: tuple[str, ...] = ()
    doubt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """A script that a command gives to a shell. script: None: it is in a file, or comes from elsewhere, see `why`.

    arguments: the words that the script has as $1, $2, ... program: $0, if a word behind the script names it.
    own: whether it has a shell of its own, as not with eval.
    """

    script: Word | None
    arguments: tuple[Word, ...] = ()
    program: Word | None = None
    env: tuple[tuple[str, Word | None], ...] = ()
    beside: tuple[str, ...] = ()
    bash: bool = True
    own: bool = True
    why: str = ""


def started(words: Sequence[Word], given: Given = Given.SCRIPT) -> Start | Script | None:
    """What a command starts; None: no engine."""
    env: list[tuple[str, Word | None]] = []
    rest = _unwrapped(words, env)
    if not rest:
        return None
    head = rest[0].value
    name = "" if head is None else head.rpartition("/")[2]
    made: Start | Script | None
    if head is None:
        made = _unknown(rest)
    elif name in ("docker", "podman", "nerdctl"):
        made = _container(rest)
    elif _SHELL.fullmatch(name):
        made = _in_file(_shell(name, rest[1:]), given)
    else:
        made = _engine(name, rest) or _other(name, rest, given)
    return _with_env(made, env) if made else None


def _with_env(made: Start | Script, env: Sequence[tuple[str, Word | None]]) -> Start | Script:
    return replace(made, env=(*env, *made.env)) if env else made


def _unwrapped(words: Sequence[Word], env: list[tuple[str, Word | None]]) -> Sequence[Word]:
    """The words behind programs such as env, exec and nohup; variables that env sets or unsets are added to `env`."""
    for _ in range(_MOST_WRAPPERS):
        name = (words[0].value or "").rpartition("/")[2] if words else ""
        if name not in _WRAPPERS:
            break
        options, before = _WRAPPERS[name]
        valued, rest = options.split(), list(words[1:])
        while rest and (option := rest[0].value or "").startswith("-") and option != "-":
            rest.pop(0)
            if option == "--":
                break
            if option in valued and rest:
                value = rest.pop(0)
                env += [(value.value or value.text, None)] if (name, option) in _UNSET else []
        rest = rest[before:]
        while name in ("env", "sudo") and rest and (found := _ASSIGNED.fullmatch(rest[0].value or rest[0].text)):
            env.append((found[1], _value_of(rest.pop(0), found)))
        words = rest
    return words


def _value_of(word: Word, found: re.Match[str]) -> Word:
    value = None if word.value is None else found[2]
    return Word(text=word.text.partition("=")[2], value=value, why=word.why, hint=word.hint)


def _engine(name: str, rest: Sequence[Word]) -> Start | None:
    if name == "vllm":
        served = len(rest) > 1 and rest[1].value == "serve"
        return Start(kind=Kind.VLLM, words=tuple(rest[2:])) if served else None
    return _python(rest[1:]) if _PYTHON.fullmatch(name) else None


def _is_program(name: str, rest: Sequence[Word]) -> bool:
    """Whether a word cannot be the name of a model: it names a program."""
    return name in _STARTS_NONE | _NO_MODELS or _PYTHON.fullmatch(name) is not None or _is_other_tool(name, rest)


def _is_other_tool(name: str, rest: Sequence[Word]) -> bool:
    """Whether it is another command of vLLM, such as `vllm bench`."""
    return name == "vllm" and len(rest) > 1 and not (rest[1].value or "-").startswith("-")


def may_pass_flags(words: Sequence[Word]) -> bool:
    """Whether a command may be a program that is not known here and hands its flags to an engine."""
    name = (words[0].value or words[0].text).rpartition("/")[2] if words else ""
    none = name in _STARTS_NONE or _is_other_tool(name, words)
    return not none and any((each.value or "").startswith("--") for each in words[1:])


def _other(name: str, rest: Sequence[Word], given: Given) -> Start | None:
    """An engine behind a program that is not known here, or by words for the program of the image."""
    if given is Given.SCRIPT:
        return _inside(rest) if name == "uv" or name not in _STARTS_NONE else None
    if name == "serve":
        return Start(kind=Kind.VLLM, words=tuple(rest[1:]))
    if name.startswith("vllm.entrypoints"):
        return Start(kind=Kind.SERVER, words=tuple(rest[1:]))
    if (given is Given.ARGS and not _is_program(name, rest)) or name.startswith("-"):
        return Start(kind=Kind.IMAGE, words=tuple(rest))
    if given is Given.ARGS:
        return _inside(rest)
    doubt = f"{rest[0].text} is not a program that is known here"
    return None if name in _STARTS_NONE else Start(kind=Kind.OTHER, words=tuple(rest[1:]), doubt=doubt)


def _python(words: Sequence[Word]) -> Start | None:
    rest = list(words)
    while rest and (option := rest[0].value or "").startswith("-") and option != "-m":
        rest.pop(0)
        if option in _OPTIONS_OF_PYTHON and rest:
            rest.pop(0)
    if len(rest) < 2 or rest[0].value != "-m":
        return None
    module = rest[1].value or ""
    if module in ("vllm", "vllm.entrypoints.cli.main"):
        served = len(rest) > 2 and rest[2].value == "serve"
        return Start(kind=Kind.VLLM, words=tuple(rest[3:])) if served else None
    kind = {"huggingfaceserver": Kind.KSERVE}.get(module, Kind.SERVER)
    known = kind is Kind.KSERVE or module.startswith("vllm.entrypoints")
    return Start(kind=kind, words=tuple(rest[2:])) if known else None


def _inside(rest: Sequence[Word]) -> Start | None:
    """An engine that a program which is not known here may start, by the words behind it."""
    for at in range(1, len(rest) - 1):
        name = (rest[at].value or "").rpartition("/")[2]
        if name == "vllm" and rest[at + 1].value == "serve":
            doubt = f"{rest[0].text} is not a program that is known here, and may start the engine"
            return Start(kind=Kind.VLLM, words=tuple(rest[at + 2 :]), doubt=doubt)
    return None


def _unknown(rest: Sequence[Word]) -> Start | None:
    """A program whose name only a shell knows: an engine if `serve` follows."""
    if len(rest) > 1 and rest[1].value == "serve":
        doubt = f"the program {rest[0].text} is known to a shell only"
        return Start(kind=Kind.OTHER, words=tuple(rest[2:]), doubt=doubt)
    return _inside(rest)


def _shell(name: str, words: Sequence[Word]) -> Script:
    """A shell's script behind -c, alone or with other options: -ec, -lc."""
    rest = list(words)
    bash = name == "bash"
    while rest and (option := rest[0].value or "")[:1] in ("-", "+") and len(option) > 1:
        rest.pop(0)
        if option.startswith("--") or option in ("-o", "+o", "-O", "+O"):
            if not option.startswith("--") and rest:
                rest.pop(0)
            continue
        if "c" in option[1:] and option.startswith("-"):
            script = rest.pop(0) if rest else None
            why = "" if script else "a shell is given no script"
            program = rest[0] if rest else None
            return Script(script=script, arguments=tuple(rest[1:]), program=program, bash=bash, why=why)
    why = f"the script {rest[0].text} is a file" if rest else "a shell reads its script from its standard input"
    return Script(script=None, arguments=tuple(rest[1:]), bash=bash, why=why)


def _in_file(made: Script, given: Given) -> Start | Script:
    """A script in a file that a container gives flags to: it may pass them on, as any program that is not known."""
    if made.script is not None or given is Given.SCRIPT or not made.arguments:
        return made
    return Start(kind=Kind.OTHER, words=made.arguments, doubt=made.why)


def _container(rest: Sequence[Word]) -> Start | Script | None:
    """The engine that `docker run ... IMAGE ARGS` starts."""
    run = run_of(rest)
    if run is None or "vllm" not in (run.image.value or ""):
        return None
    words = (*run.entrypoint, *run.words)
    inner = started(words, Given.COMMAND if run.entrypoint else Given.ARGS)
    if inner is None or (isinstance(inner, Start) and inner.kind is Kind.IMAGE):
        inner = Start(kind=Kind.CONTAINER, words=run.words)
    return replace(_with_env(inner, run.env), beside=run.beside)
