"""What commands share that send requests: their options, the prompts, the folder of their files, and how they end."""

import asyncio
import signal
import sys
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import typer

from specdec_command.cli.connect import INTERRUPTED
from specdec_command.cli.input import stop
from specdec_command.measure.prompts import Prompt, parse
from specdec_command.measure.requests import Sampling
from specdec_operator.errors import Invalid, OperatorError

if TYPE_CHECKING:
    from rich.console import RenderableType

_BUILT_IN: Final = ("code", "chat")
_WIDTH_IN_A_FILE: Final = 110
_Found = TypeVar("_Found")

Source = Annotated[str, typer.Option("--prompts", metavar="code|chat|FILE.jsonl", help="The prompts to send.")]
Production = Annotated[
    bool, typer.Option("--production-sampling", help="Sample as the engine does by default, not greedily.")
]
Temperature = Annotated[
    float | None, typer.Option(min=0, max=2, help="Temperature of each request. Implies --production-sampling.")
]
TopP = Annotated[float | None, typer.Option(min=0.001, max=1, help="top_p of each request; likewise.")]
MaxTokens = Annotated[int, typer.Option("--max-tokens", min=2, help="Maximum length of an answer, in tokens.")]


def sampling_of(production: bool, temperature: float | None, top_p: float | None) -> Sampling:
    """How tokens are chosen, by the options."""
    greedy = not production and temperature is None and top_p is None
    return Sampling(greedy=greedy, temperature=temperature, top_p=top_p)


def numbers_of(option: str, text: str, least: int, example: str) -> tuple[int, ...]:
    """Whole numbers with commas between, each once. Exits with 2 for anything else."""
    try:
        numbers = tuple(dict.fromkeys(int(each) for each in text.split(",")))
    except ValueError:
        numbers = ()
    if not numbers or min(numbers) < least:
        raise stop(f"{option} {text!r}: must be whole numbers from {least} with commas between, such as {example}")
    return numbers


def concurrencies_of(text: str) -> tuple[int, ...]:
    """Numbers of concurrent requests. Exits with 2 for anything else."""
    return numbers_of("--concurrency", text, 1, "1,4,8")


def prompts_of(source: str, *, most: int) -> tuple[Prompt, ...]:
    """The prompts of a built-in set or of a file. Exits with 2 where they cannot be asked."""
    try:
        prompts = parse(_text(source), source)
    except (OSError, UnicodeDecodeError) as error:
        raise stop(f"--prompts {source}: {error}; built-in sets are {', '.join(_BUILT_IN)}") from error
    except Invalid as error:
        raise stop(f"--prompts {error.message}") from error
    if len(prompts) < most:
        rule = f"{len(prompts)} prompts are too few for {most} concurrent requests; pass more, or lower --concurrency"
        raise stop(f"--prompts {source}: {rule}")
    return prompts


def _text(source: str) -> str:
    if source in _BUILT_IN:
        return (resources.files("specdec_command.measure") / "data" / f"{source}.jsonl").read_text(encoding="utf-8")
    return Path(source).read_text(encoding="utf-8")


@contextmanager
def folder_of(path: Path) -> Iterator[Path]:
    """The folder of the report, there before anything is measured; an empty one that was made here does not stay."""
    made = not path.exists()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise stop(f"--output {path}: {error}") from error
    try:
        yield path
    finally:
        if made and not any(path.iterdir()):
            path.rmdir()


def show(shown: "RenderableType", folder: Path, files: Sequence[str]) -> None:
    """Prints what was found, and which files of the folder have it."""
    from rich.console import Console  # noqa: PLC0415 - nothing to load before it is needed

    console = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=_WIDTH_IN_A_FILE)
    console.print(shown)
    written = ", ".join(str(folder / each) for each in files)
    console.print(f"written: {written}", markup=False, soft_wrap=True)


def finished(work: Coroutine[Any, Any, _Found]) -> _Found:
    """What came of the work. Exits with 1 if nothing did, and with 130 if the user stopped it."""
    try:
        return asyncio.run(_until_stopped(work))
    except OperatorError as error:
        raise stop(error.message, 1) from error
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise stop("stopped; there is no report", INTERRUPTED) from None


async def _until_stopped(work: Coroutine[Any, Any, _Found]) -> _Found:
    """Does the work. SIGTERM ends it as Ctrl-C does: it puts back what it changed. A second Ctrl-C does not wait."""
    task = asyncio.ensure_future(work)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await task
