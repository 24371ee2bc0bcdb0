"""`specdec measure NAME`: speculation against the plain service on a cluster, on the same requests."""

import asyncio
import json
import signal
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from specdec_operator.api.durations import parse_duration
from specdec_operator.errors import Invalid
from specdec_operator.measure.errors import Unmeasurable
from specdec_operator.measure.order import Job, Order
from specdec_operator.measure.prompts import Prompt, digest, parse

if TYPE_CHECKING:
    from specdec_operator.measure.measurement import Measurement

BUILT_IN: Final = ("code", "chat")
_INTERRUPTED: Final = 130
_WIDTH_IN_A_FILE: Final = 110

Name = Annotated[str, typer.Argument(help="The sis to measure.")]
Namespace = Annotated[str | None, typer.Option("-n", "--namespace", help="Its namespace. Default: the context's.")]
Source = Annotated[str, typer.Option("--prompts", metavar="code|chat|FILE.jsonl", help="What is asked.")]
Concurrencies = Annotated[str, typer.Option("--concurrency", help="Requests at once, one measurement for each.")]
Repeats = Annotated[int, typer.Option(min=5, help="Times that each side is asked all prompts.")]
MaxTokens = Annotated[int, typer.Option("--max-tokens", min=2, help="Longest answer, in tokens.")]
InPlace = Annotated[
    bool, typer.Option("--in-place", help="No twin: speculation stops in the service itself for the plain half.")
]
Room = Annotated[str, typer.Option(help="How long the twin may wait for a node with room, such as 10m.")]
Output = Annotated[Path | None, typer.Option(help="Folder of measure.md and measure.json. Default: a new one.")]
Kubeconfig = Annotated[str | None, typer.Option(help="Default: KUBECONFIG, or ~/.kube/config.")]


def measure(  # noqa: PLR0913 - one parameter is one option of the command line
    name: Name,
    *,
    namespace: Namespace = None,
    prompts: Source = "chat",
    concurrency: Concurrencies = "1,4,8",
    repeats: Repeats = 5,
    max_tokens: MaxTokens = 128,
    in_place: InPlace = False,
    room: Room = "5m",
    output: Output = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Measure a service with speculation against a plain twin, which is made beside it and removed again."""
    now, levels = datetime.now(UTC), _levels(concurrency)
    asked = _prompts(prompts, most=max(levels))
    order = Order(
        source=prompts,
        prompts=len(asked),
        digest=digest(asked),
        concurrencies=levels,
        repeats=repeats,
        max_tokens=max_tokens,
        in_place=in_place,
    )
    at = f"{now:%F %T} UTC"
    job = Job(namespace=namespace, name=name, order=order, prompts=asked, at=at, room=_seconds(room))
    with _folder(output or Path(f"measure-{name}-{now:%Y%m%dT%H%M%SZ}")) as folder:
        _show(_measured(job, kubeconfig), folder)


def _measured(job: Job, kubeconfig: str | None) -> "Measurement":
    """The measurement. Exits with 1 where there is none, and with 130 where somebody stopped it."""
    from specdec_operator.measure.run import run  # noqa: PLC0415 - its two HTTP clients take a second to load

    try:
        return asyncio.run(_until_stopped(run(job, kubeconfig, lambda words: typer.echo(words, err=True))))
    except Unmeasurable as error:
        raise _stop(error.message, 1) from error
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise _stop("stopped; nothing is reported", _INTERRUPTED) from None


async def _until_stopped(work: Coroutine[Any, Any, "Measurement"]) -> "Measurement":
    """Does the work. SIGTERM ends it as Ctrl-C does: it puts back what it changed. A second Ctrl-C does not wait."""
    task = asyncio.ensure_future(work)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await task


def _levels(text: str) -> tuple[int, ...]:
    try:
        found = tuple(dict.fromkeys(int(each) for each in text.split(",")))
    except ValueError:
        found = ()
    if not found or min(found) < 1:
        raise _stop(f"--concurrency {text!r}: must be whole numbers from 1 with commas between, such as 1,4,8", 2)
    return found


def _seconds(room: str) -> float:
    try:
        return parse_duration(room)
    except ValueError as error:
        raise _stop(f"--room {error}", 2) from error


def _prompts(source: str, *, most: int) -> tuple[Prompt, ...]:
    """The prompts of a built-in set or of a file. Exits with 2 where they cannot be asked."""
    try:
        found = parse(_text(source), source)
    except (OSError, UnicodeDecodeError) as error:
        raise _stop(f"--prompts {source}: {error}; built-in sets are {', '.join(BUILT_IN)}", 2) from error
    except Invalid as error:
        raise _stop(f"--prompts {error.message}", 2) from error
    if len(found) < most:
        rule = f"{len(found)} prompts cannot keep {most} requests going at once; give more, or lower --concurrency"
        raise _stop(f"--prompts {source}: {rule}", 2)
    return found


def _text(source: str) -> str:
    if source in BUILT_IN:
        return (resources.files("specdec_operator.measure") / "data" / f"{source}.jsonl").read_text(encoding="utf-8")
    return Path(source).read_text(encoding="utf-8")


@contextmanager
def _folder(path: Path) -> Iterator[Path]:
    """The folder of the report, there before anything is measured; an empty one that was made here does not stay."""
    made = not path.exists()
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _stop(f"--output {path}: {error}", 2) from error
    try:
        yield path
    finally:
        if made and not any(path.iterdir()):
            path.rmdir()


def _show(found: "Measurement", folder: Path) -> None:
    """Writes both files, and shows the table."""
    from rich.console import Console  # noqa: PLC0415 - see below

    from specdec_operator.measure.document import document  # noqa: PLC0415 - nothing to load before it is needed
    from specdec_operator.measure.report import report  # noqa: PLC0415
    from specdec_operator.measure.table import render  # noqa: PLC0415

    (folder / "measure.md").write_text(report(found), encoding="utf-8")
    numbers = json.dumps(document(found), indent=2, ensure_ascii=False)
    (folder / "measure.json").write_text(numbers + "\n", encoding="utf-8")
    console = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=_WIDTH_IN_A_FILE)
    console.print(render(found))
    console.print(f"written: {folder / 'measure.md'}, {folder / 'measure.json'}", markup=False, soft_wrap=True)


def _stop(why: str, code: int) -> typer.Exit:
    typer.echo(f"error: {why}", err=True)
    return typer.Exit(code)
