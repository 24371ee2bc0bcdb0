"""All commands of `specdec`, as typer sees them."""

from typing import Annotated

import typer

from specdec_operator.cli import act, rules, validate
from specdec_operator.cli.explain import explain
from specdec_operator.cli.importing import import_
from specdec_operator.cli.measure import measure
from specdec_operator.cli.preflight import preflight
from specdec_operator.cli.recommend import recommend
from specdec_operator.cli.render import render
from specdec_operator.cli.replay import replay
from specdec_operator.cli.status import status
from specdec_operator.cli.watch import watch

app = typer.Typer(
    name="specdec",
    help="Speculative decoding on Kubernetes: what runs, what would run, and why.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.command("validate", add_help_option=False, context_settings={"ignore_unknown_options": True})
def _validate(arguments: Annotated[list[str] | None, typer.Argument(metavar="[OPTIONS] [FILE]...")] = None) -> None:
    """Refuse what the API server or the engine would refuse, with file and line."""
    raise typer.Exit(validate.main(arguments or []))


app.command("render")(render)
app.command("explain")(explain)
app.command("recommend")(recommend)
app.command("rules")(rules.rules)
app.command("import")(import_)
app.command("measure")(measure)
app.command("preflight")(preflight)
app.command("replay")(replay)
app.command("status")(status)
app.command("watch")(watch)
app.command("rollback")(act.rollback)
app.command("retry")(act.retry)
app.command("hold")(act.hold)
app.command("release")(act.release)
