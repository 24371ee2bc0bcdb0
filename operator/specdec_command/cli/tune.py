"""`specdec tune NAME`: the number of draft tokens at each load, tried in turn in the running engines."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specdec_command.cli.connect import Kubeconfig, Namespace, checked
from specdec_command.cli.input import as_json, as_yaml, duration
from specdec_command.cli.requests import (
    MaxTokens,
    Production,
    Source,
    Temperature,
    TopP,
    concurrencies_of,
    finished,
    folder_of,
    numbers_of,
    prompts_of,
    sampling_of,
    show,
)
from specdec_command.measure.prompts import digest
from specdec_command.tune.order import Limits, TuneJob, TuneOrder

if TYPE_CHECKING:
    from specdec_command.tune.tuning import Tuning


Name = Annotated[str, typer.Argument(help="The service to tune.", callback=checked)]
Tokens = Annotated[
    str | None,
    typer.Option("--tokens", help="Numbers of draft tokens, such as 0,2,4. Default: up to 5 all, then powers of two."),
]
Concurrencies = Annotated[str, typer.Option("--concurrency", help="Numbers of concurrent requests, one load each.")]
Repeats = Annotated[int, typer.Option(min=5, help="How often each number is tried at each load.")]
FirstToken = Annotated[str | None, typer.Option(help="Most time to the first token, such as 500ms (median).")]
PerToken = Annotated[str | None, typer.Option(help="Most time per output token, such as 40ms (median).")]
Output = Annotated[Path | None, typer.Option(help="Folder of the files. Default: a new one.")]


def tune(  # noqa: PLR0913 - one parameter is one option of the command line
    name: Name,
    *,
    namespace: Namespace = None,
    prompts: Source = "chat",
    tokens: Tokens = None,
    concurrency: Concurrencies = "1,2,4,8",
    repeats: Repeats = 8,
    max_tokens: MaxTokens = 128,
    max_first_token: FirstToken = None,
    max_per_token: PerToken = None,
    production_sampling: Production = False,
    temperature: Temperature = None,
    top_p: TopP = None,
    output: Output = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Find the best number of draft tokens at each load, by the dial of the running engines; no pod restarts."""
    now, loads = datetime.now(UTC), concurrencies_of(concurrency)
    requests = prompts_of(prompts, most=max(loads))
    order = TuneOrder(
        source=prompts,
        prompts=len(requests),
        digest=digest(requests),
        concurrencies=loads,
        tokens=numbers_of("--tokens", tokens, 0, "0,2,4") if tokens else (),
        repeats=repeats,
        max_tokens=max_tokens,
        sampling=sampling_of(production_sampling, temperature, top_p),
        limits=Limits(
            first_token=_seconds("--max-first-token", max_first_token),
            per_token=_seconds("--max-per-token", max_per_token),
        ),
    )
    job = TuneJob(namespace=namespace, name=name, order=order, prompts=requests, at=f"{now:%F %T} UTC")
    with folder_of(output or Path(f"tune-{name}-{now:%Y%m%dT%H%M%SZ}")) as folder:
        _show(_tuned(job, kubeconfig), folder)


def _seconds(option: str, text: str | None) -> float | None:
    return None if text is None else duration(option, text)


def _tuned(job: TuneJob, kubeconfig: str | None) -> "Tuning":
    from specdec_command.tune.run import run  # noqa: PLC0415 - its HTTP client takes a second to load

    return finished(run(job, kubeconfig, lambda words: typer.echo(words, err=True)))


def _show(tuning: "Tuning", folder: Path) -> None:
    """Writes the files, and shows the table."""
    from specdec_command.tune import profile  # noqa: PLC0415 - nothing to load before it is needed
    from specdec_command.tune.report import document, render  # noqa: PLC0415

    found = document(tuning)
    texts = {"tune.json": as_json(found) + "\n"}
    for name in ("patch.yaml", profile.FILE):
        (folder / name).unlink(missing_ok=True)  # of an earlier run into the same folder
    if found["patch"] and not found["problems"]:
        texts["patch.yaml"] = as_yaml(found["patch"])
    if (draft := profile.profile_of(tuning)) is not None:
        texts[profile.FILE] = as_json(draft) + "\n"
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    show(render(tuning), folder, tuple(texts))
