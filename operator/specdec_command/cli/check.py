"""`specdec check URL`: what a running vLLM shows over HTTP alone, without a cluster."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import urlsplit

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from specdec_command.cli.connect import done
from specdec_command.cli.doctor import FINE, TO_FIX, UNSEEN, signs_for, styles_for
from specdec_command.cli.input import Form, Shown, as_json, duration, say, stop
from specdec_command.doctor.finding import DoctorSeverity
from specdec_command.endpoint.findings import EndpointFinding, findings
from specdec_command.endpoint.seen import Seen
from specdec_command.endpoint.summary import document, rows, verdict

_SHORTEST, _LONGEST = 2.0, 3600.0
_PATHS: Final = ("/v1", "/metrics", "/health")
"""Pages that people copy with the address."""

Address = Annotated[str, typer.Argument(metavar="URL", help="Address of the engine, such as http://localhost:8000.")]
Window = Annotated[str, typer.Option("--for", help="How long its counters are watched, from 2s to 1h.")]
Generate = Annotated[bool, typer.Option("--generate/--no-generate", help="Request one short answer.")]
TokenFile = Annotated[Path | None, typer.Option("--token-file", help="File with the bearer token or API key.")]
CaFile = Annotated[
    Path | None, typer.Option("--ca-file", help="Certificates (PEM) that its certificate is checked by.")
]
Timeout = Annotated[str, typer.Option(help="Longest wait for each answer.")]


def check(
    url: Address,
    *,
    window: Window = "30s",
    generate: Generate = True,
    token_file: TokenFile = None,
    ca_file: CaFile = None,
    timeout: Timeout = "30s",
    output: Shown = Form.TEXT,
) -> None:
    """Check a running vLLM by HTTP alone: is it answering, is it speculating, and does the draft pay.

    Exit codes: 0 nothing to fix, 1 something is, 2 the server could not be checked.
    """
    from specdec_command.endpoint.probe import Endpoint, probe  # noqa: PLC0415 - its HTTP client takes long to load

    endpoint = Endpoint(
        url=_address(url),
        token=_token(token_file),
        ca=_text("--ca-file", ca_file),
        timeout=_seconds("--timeout", timeout, shortest=0.1),
    )
    seconds = _seconds("--for", window, shortest=_SHORTEST)

    async def work() -> int:
        seen = await probe(endpoint, seconds=seconds, generate=generate)
        if seen.silent:
            raise stop(f"{endpoint.url} could not be checked: {_why(seen)}", UNSEEN)
        found = findings(seen)
        if output is Form.JSON:
            typer.echo(as_json(document(seen, found)))
        else:
            say(page(seen, found, signs_for(sys.stdout.encoding)))
        return TO_FIX if any(each.to_fix for each in found) else FINE

    done(work(), failed=UNSEEN)


def page(seen: Seen, found: tuple[EndpointFinding, ...], signs: Mapping[str, str]) -> RenderableType:
    """What was seen and found, for people."""
    lines: list[RenderableType] = [Text(seen.url, style="bold")]
    lines += [Text(f"  {name:<13} {text}", overflow="fold") for name, text in rows(seen)]
    lines.append(Text())
    for each in found:
        severity = DoctorSeverity.FIX if each.to_fix else DoctorSeverity.LOOK
        head = (f"{signs[severity]} {each.id}", styles_for(severity))
        lines.append(Text.assemble(head, f"  {each.what}: {each.means}", overflow="fold"))
        lines.append(Padding(Text.assemble(("do: ", "bold"), each.do, overflow="fold"), (0, 0, 0, 4)))
    return Group(*lines, *([Text()] if found else []), Text(verdict(found)))


def _why(seen: Seen) -> str:
    """What every page has in common, or what each of them answered."""
    reasons = dict.fromkeys(each.what for each in seen.troubles)
    fix = seen.troubles[0].fix
    if len(reasons) == 1:
        return f"{next(iter(reasons))}; {fix}"
    return "; ".join(f"{each.path}: {each.what}" for each in seen.troubles) + f"; {fix}"


def _address(url: str) -> str:
    """The address without a path that people copy with it. Exits with 2 for what is not an address."""
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise stop(f"URL {url!r}: must begin with http:// or https:// and a host, such as http://localhost:8000")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise stop("URL: must have no user, password or query; pass a token with --token-file")
    path = parts.path.rstrip("/")
    for each in _PATHS:
        path = path.removesuffix(each)
    return f"{parts.scheme}://{parts.netloc}{path}"


def _token(file: Path | None) -> str:
    token = _text("--token-file", file).strip()
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        raise stop(f"--token-file {file}: must hold one token alone, without spaces and line breaks inside")
    if file and not token:
        raise stop(f"--token-file {file}: is empty; write the token into it")
    return token


def _text(option: str, file: Path | None) -> str:
    try:
        return file.read_text(encoding="utf-8") if file else ""
    except (OSError, UnicodeDecodeError) as error:
        raise stop(f"{option} {file}: {error}") from error


def _seconds(option: str, text: str, *, shortest: float) -> float:
    seconds = duration(option, text)
    if not shortest <= seconds <= _LONGEST:
        raise stop(f"{option} {text}: must be from {shortest:g}s to 1h")
    return seconds
