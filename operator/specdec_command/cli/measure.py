"""`specdec measure NAME`: speculation against the baseline on a cluster, on the same requests."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from specdec_command.cli.connect import Kubeconfig, Namespace, checked
from specdec_command.cli.input import as_json, duration, stop
from specdec_command.cli.requests import (
    MaxTokens,
    Production,
    Source,
    Temperature,
    TopP,
    concurrencies_of,
    finished,
    folder_of,
    prompts_of,
    sampling_of,
    show,
)
from specdec_command.measure.benchmark import BenchmarkOrder, Job
from specdec_command.measure.prompts import digest

if TYPE_CHECKING:
    from specdec_command.measure.compare import Measurement

_CONCURRENCIES: Final = "1,4,8"
_SLOWEST, _FASTEST = 0.01, 1000.0

Name = Annotated[str, typer.Argument(help="The service to measure.", callback=checked)]
Concurrencies = Annotated[
    str | None,
    typer.Option("--concurrency", help="Numbers of concurrent requests, one comparison each. Default: 1,4,8, or none."),
]
Rates = Annotated[
    str | None, typer.Option("--rate", help="Requests per second that arrive at random times, one comparison each.")
]
Repeats = Annotated[int, typer.Option(min=5, help="How often each side gets all prompts.")]
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
    levels = () if rates and concurrency is None else concurrencies_of(concurrency or _CONCURRENCIES)
    requests = prompts_of(prompts, most=max(levels, default=1))
    order = BenchmarkOrder(
        source=prompts,
        prompts=len(requests),
        digest=digest(requests),
        concurrencies=levels,
        repeats=repeats,
        max_tokens=max_tokens,
        in_place=in_place,
        rates=rates,
        sampling=sampling_of(production_sampling, temperature, top_p),
    )
    at = f"{now:%F %T} UTC"
    job = Job(namespace=namespace, name=name, order=order, prompts=requests, at=at, room=duration("--room", room))
    with folder_of(output or Path(f"measure-{name}-{now:%Y%m%dT%H%M%SZ}")) as folder:
        _show(_measured(job, kubeconfig), folder)


def _measured(job: Job, kubeconfig: str | None) -> "Measurement":
    from specdec_command.measure.run import run  # noqa: PLC0415 - its HTTP client takes a second to load

    return finished(run(job, kubeconfig, lambda words: typer.echo(words, err=True)))


def _rates(text: str | None) -> tuple[float, ...]:
    try:
        rates = tuple(dict.fromkeys(float(each) for each in text.split(","))) if text else ()
    except ValueError:
        rates = (0.0,)
    if not all(_SLOWEST <= each <= _FASTEST for each in rates):
        rule = f"must be numbers from {_SLOWEST:g} to {_FASTEST:g} with commas between, such as 0.5,2"
        raise stop(f"--rate {text!r}: {rule}")
    return rates


def _show(measurement: "Measurement", folder: Path) -> None:
    """Writes both files, and shows the table."""
    from specdec_command.measure.report import document, markdown  # noqa: PLC0415 - nothing to load before it is needed
    from specdec_command.measure.table import render  # noqa: PLC0415

    (folder / "measure.md").write_text(markdown(measurement), encoding="utf-8")
    (folder / "measure.json").write_text(as_json(document(measurement)) + "\n", encoding="utf-8")
    show(render(measurement), folder, ("measure.md", "measure.json"))
