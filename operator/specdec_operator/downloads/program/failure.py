"""Why a download failed, in a word and a sentence without secrets. A part of the program in fetch.py."""

import errno
import os
import re
from collections.abc import Iterator
from typing import Final

from specdec_operator.staging.failure_reasons import meaning

_BY_NAME: Final = {
    name: reason
    for reason, names in {
        "Unauthorized": "NoCredentialsError PartialCredentialsError DefaultCredentialsError RefreshError "
        "GatedRepoError ClientAuthenticationError",
        "NotFound": "RepositoryNotFoundError RevisionNotFoundError EntryNotFoundError ResourceNotFoundError",
        "Unreachable": "ConnectionError Timeout TimeoutError TransportError gaierror ServiceRequestError "
        "LocalEntryNotFoundError",
        "Incomplete": "IncompleteRead ProtocolError ChunkedEncodingError",
    }.items()
    for name in names.split()
}
"""Exceptions of botocore, huggingface_hub, google, azure, requests, httpx, urllib3 and Python, or bases of theirs."""
_BY_STATUS: Final = {401: "Unauthorized", 403: "Unauthorized", 404: "NotFound"}
_BY_ERRNO: Final = {
    errno.ENOSPC: "DiskFull",
    errno.EDQUOT: "DiskFull",
    errno.ENETUNREACH: "Unreachable",
    errno.EHOSTUNREACH: "Unreachable",
}
_SECRET_NAME: Final = re.compile("token|secret|passw|key|credential|-headers", re.IGNORECASE)
_SHORTEST_SECRET: Final = 6
_MOST_WORDS: Final = 800


class DownloadRefused(Exception):
    """What the program itself finds wrong: a reason and a sentence."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def reason_of(error: BaseException) -> str:
    """The reason that the exceptions give, the outermost first; if none does, the one that their messages give."""
    for each in _chain(error):
        if reason := _reason(each):
            return reason
    return meaning(" ".join(map(str, _chain(error))))


def words_of(error: BaseException) -> str:
    """The message of the outermost exception, and its first cause with another message; without secrets."""
    first, *causes = dict.fromkeys(" ".join(_words(each).split()) for each in _chain(error))
    return without_secrets(f"{first} ({causes[0]})" if causes else first)[:_MOST_WORDS]


def without_secrets(text: str) -> str:
    """The text without the user and query parts of URLs and the values of variables that are named like secrets."""
    for name, value in os.environ.items():
        if _SECRET_NAME.search(name) and len(value) >= _SHORTEST_SECRET:
            text = text.replace(value, "***")
    return re.sub(r"\?[^\s'\")]+", "?***", re.sub(r"://[^/@\s]+@", "://***@", text))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _words(error: BaseException) -> str:
    named = type(error).__name__
    if isinstance(error, DownloadRefused) or (named == "RuntimeError" and str(error)):
        return str(error)
    return f"{named}: {error}"


def _reason(error: BaseException) -> str | None:
    if isinstance(error, DownloadRefused):
        return error.reason
    named = (_BY_NAME.get(kind.__name__) for kind in type(error).__mro__)
    number = error.errno if isinstance(error, OSError) else None
    return next(filter(None, named), None) or _BY_STATUS.get(_status(error)) or _BY_ERRNO.get(number or 0)


def _status(error: BaseException) -> int:
    """The HTTP status that an exception carries, wherever its library keeps it; 0 where it has none."""
    response = getattr(error, "response", None)
    if isinstance(response, dict):
        status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    else:
        status = getattr(response, "status_code", None) or getattr(error, "status_code", None)
    status = status or getattr(error, "code", None)
    return status if isinstance(status, int) else 0
