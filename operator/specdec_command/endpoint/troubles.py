"""Why a page of a server could not be read, in a sentence, and what to do."""

import ssl
from typing import Final

from specdec_command.endpoint.seen import Trouble
from specdec_operator.display.untrusted import Untrusted
from specdec_operator.scrape.pods import HttpError

_MOST_WORDS: Final = 200
_DIRECT: Final = "use the address of vLLM itself: of its pod or Service, or of a port-forward"

_TOKEN: Final = "the server needs a token: write it into a file, and pass that with --token-file"  # noqa: S105 - a text
_LATER: Final = "the server is overloaded or not up yet; try again, and read its log if it stays so"
_FIXES: Final = {
    401: _TOKEN,
    403: _TOKEN,
    404: f"the server has no such page; {_DIRECT}",
    429: _LATER,
    503: _LATER,
}


def trouble_of(error: Exception, path: str, timeout: float, *, token: bool) -> Trouble:
    """The trouble behind an error that a read raised. token: whether one was sent."""
    match error:
        case HttpError():
            what, fix = _answered(error, token=token)
        case TimeoutError():
            what = f"no answer within {timeout:g} s"
            fix = "check whether the engine hangs or a firewall drops packets, or set a longer --timeout"
        case ssl.SSLError():
            what = f"the certificate is not accepted: {_short(str(error))}"
            fix = "pass the certificate of its authority with --ca-file, and use a host name that the certificate has"
        case UnicodeDecodeError():
            what, fix = "the answer is not text", _DIRECT
        case ValueError():
            what, fix = f"this is not an answer of vLLM: {_short(str(error))}", _DIRECT
        case _:
            reason = str(getattr(error, "os_error", error)) or type(error).__name__
            what = f"no connection: {_short(reason)}"
            fix = "check host and port, whether the engine is up, and http:// or https://"
    status = error.status if isinstance(error, HttpError) else 0
    return Trouble(path=path, what=what, fix=fix, status=status)


def _answered(error: HttpError, *, token: bool) -> tuple[str, str]:
    words = _short(error.words)
    what = f"HTTP {error.status}" + (f": {words}" if words and not words.startswith("<") else "")
    if 300 <= error.status < 400:
        return f"HTTP {error.status}: it redirects to {_short(error.location) or 'nowhere'}", "use that address instead"
    if token and error.status in (401, 403):
        return what, "the server does not accept the token of --token-file; use one that it knows"
    if error.status in _FIXES:
        return what, _FIXES[error.status]
    if error.status >= 500:
        return what, "read the log of the engine, and that of a proxy before it"
    return what, "read the message: the server does not serve this request"


def _short(text: str) -> str:
    return Untrusted(text).text[:_MOST_WORDS]
