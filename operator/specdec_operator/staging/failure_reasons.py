"""What the words of a failed download mean: those of storage-initializer, botocore, huggingface_hub and the kubelet."""

import re
from typing import Final

_MEANINGS: Final[tuple[tuple[str, re.Pattern[str]], ...]] = tuple(
    (reason, re.compile(pattern, re.IGNORECASE))
    for reason, pattern in (
        ("DiskFull", r"no space left|errno 28|enospc|disk quota exceeded"),
        (
            "Unauthorized",
            r"\b40[13]\b|unauthori[sz]ed|forbidden|access ?denied|invalidaccesskeyid|signaturedoesnotmatch|gated ?repo"
            r"|unable to locate credentials|nocredentials|authentication failed"
            r"|could not automatically determine credentials|invalidtoken",
        ),
        (
            "NotFound",
            r"\b404\b|not ?found|no ?such ?(key|bucket)|no model found|does not exist|no objects? (were )?found",
        ),
        (
            "Unreachable",
            r"could not connect|failed to connect"
            r"|connection (refused|reset|timed out|aborted)|name or service not known|max retries"
            r"|temporary failure in name resolution|endpointconnectionerror|connecttimeout|network is unreachable",
        ),
        ("UnknownScheme", r"cannot recognize storage type|unsupported (uri|scheme)|no .*storage container"),
    )
)


def meaning(said: str) -> str:
    """The reason that these words give, such as NotFound or Unauthorized; DownloadFailed where they give none."""
    return next((reason for reason, pattern in _MEANINGS if pattern.search(said)), "DownloadFailed")
