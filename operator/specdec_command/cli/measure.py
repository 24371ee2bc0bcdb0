"""`specdec measure NAME`: speculation against the baseline on a cluster, on the same requests."""

import asyncio
import signal
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from specdec_command.cli.connect import INTERRUPTED, Kubeconfig, Namespace, checked
from specdec_command.cli.input import as_json, duration, stop
from specdec_command.measure.benchmark import BenchmarkOrder, Job
from specdec_command.measure.prompts import Prompt, digest, parse
from specdec_command.measure.requests import Sampling
from specdec_operator.errors import Invalid, OperatorError

if TYPE_CHECKING:
    from specdec_command.measure.compare import Measurement

_BUILT_IN: Final = ("code", "chat")
_WIDTH_IN_A_FILE: Final = 110
_CONCURRENCIES: Final = "1,4,8"
_SLOWEST, _FASTEST = 0.01, 1000.0

Name = Annotated[str, typer.Argument(help="The service to measure.", callback=checked)]
Source = Annotated[str, typer.Option("--prompts", metavar="code|chat|FILE.jsonl", help="The prompts to send.")]
Concurrencies = Annotated[
    str | None,
    typer.Option("--concurrency", help="Numbers of concurrent requests, one comparison each. Default: 1,4,8, or none."),
]
Rates = Annotated[
    str | None, typer.Option("--rate", help="Requests per second that arrive at random times, one comparison each.")
]
Production = Annotated[
    bool, typer.Option("--production-sampling", help="Sample as the engine does by default, not greedily.")
]
Temperature = Annotated[
    float | None, typer.Option(min=0, max=2, help="Temperature of each request. Implies --production-sampling.")
]
TopP = Annotated[float | None, typer.Option(min=0.001, max=1, help="top_p of each request; likewise.")]
Repeats = Annotated[int, typer.Option(min=5, help="How often each side gets all prompts.")]
MaxTokens = Annotated[int, typer.Option("--max-tokens", min=2, help="Maximum length of an answer, in tokens.")]
InPlace = Annotated[
    bool, typer.Option("--in-place", help="Make no twin: the service itself runs as baseline for the second half.")
]
Room = Annotated[str, typer.Option(help="Longest wait of the twin for a node with room, such as 10m.")]
Output = Annotated[Path | None, typer.Option(help="Folder of measure.md and measure.json. Default: a new one.")]


def measure(  # noqa: PLR0913 - one parameter is one option of the command line
    name: Name,
    *,
    namespace: Namespace = None,
    prompts: Source = "chat",
    concurrency: Concurrencies = None,
    rate: Rates = None,
    production_sampling: Production = False,
    temperature: Temperature = None,
    top_p: TopP = None,
    repeats: Repeats = 5,
    max_tokens: MaxTokens = 128,
    in_place: InPlace = False,
    room: Room = "5m",
    output: Output = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Measure a service with speculation against a baseline service, which is created for this and removed again."""
    now, rates = datetime.now(UTC), _rates(rate)
    levels = () if rates and concurrency is None else _levels(concurrency or _CONCURRENCIES)
    requests = _prompts(prompts, most=max(levels, default=1))
    greedy = not production_sampling and temperature is None and top_p is None
    order = BenchmarkOrder(
        source=prompts,
        prompts=len(requests),
        digest=digest(requests),
        concurrencies=levels,
        repeats=repeats,
        max_tokens=max_tokens,
        in_place=in_place,
        rates=rates,
        sampling=Sampling(greedy=greedy, temperature=temperature, top_p=top_p),
    )
    at = f"{now:%F %T} UTC"
    job = Job(namespace=namespace, name=name, order=order, prompts=requests, at=at, room=duration("--room", room))
    with _folder(output or Path(f"measure-{name}-{now:%Y%m%dT%H%M%SZ}")) as folder:
        _show(_measured(job, kubeconfig), folder)


def _measured(job: Job, kubeconfig: str | None) -> "Measurement":
    """The measurement. Exits with 1 if there is none, and with 130 if the user stopped it."""
    from specdec_command.measure.run import run  # noqa: PLC0415 - its HTTP client takes a second to load

    try:
        return asyncio.run(_until_stopped(run(job, kubeconfig, lambda words: typer.echo(words, err=True))))
    except OperatorError as error:
        raise stop(error.message, 1) from error
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise stop("stopped; there is no report", INTERRUPTED) from None


async def _until_stopped(work: Coroutine[Any, Any, "Measurement"]) -> "Measurement":
    """Does the work. SIGTERM ends it as Ctrl-C does: it puts back what it changed. A second Ctrl-C does not wait."""
    task = asyncio.ensure_future(work)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await task


def _levels(text: str) -> tuple[int, ...]:
    try:
        levels = tuple(dict.fromkeys(int(each) for each in text.split(",")))
    except ValueError:
        levels = ()
    if not levels or min(levels) < 1:
        raise stop(f"--concurrency {text!r}: must be whole numbers from 1 with commas between, such as 1,4,8")
    return levels


def _rates(text: str | None) -> tuple[float, ...]:
    try:
        rates = tuple(dict.fromkeys(float(each) for each in text.split(","))) if text else ()
    except ValueError:
        rates = (0.0,)
    if not all(_SLOWEST <= each <= _FASTEST for each in rates):
        rule = f"must be numbers from {_SLOWEST:g} to {_FASTEST:g} with commas between, such as 0.5,2"
        raise stop(f"--rate {text!r}: {rule}")
    return rates


def _prompts(source: str, *, most: int) -> tuple[Prompt, ...]:
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
def _folder(path: Path) -> Iterator[Path]:
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


def _show(measurement: "Measurement", folder: Path) -> None:
    """Writes both files, and shows the table."""
    from rich.console import Console  # noqa: PLC0415 - nothing to load before it is needed

    from specdec_command.measure.report import document, markdown  # noqa: PLC0415
    from specdec_command.measure.table import render  # noqa: PLC0415

    (folder / "measure.md").write_text(markdown(measurement), encoding="utf-8")
    (folder / "measure.json").write_text(as_json(document(measurement)) + "\n", encoding="utf-8")
    console = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=_WIDTH_IN_A_FILE)
    console.print(render(measurement))
    console.print(f"written: {folder / 'measure.md'}, {folder / 'measure.json'}", markup=False, soft_wrap=True)
