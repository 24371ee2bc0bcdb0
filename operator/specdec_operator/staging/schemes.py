"""The schemes of artifacts: which are served, how each is written, and what to write instead of the others.

What depends on a scheme follows from SCHEMES: the CRD's rules, what each staging mode brings, messages about a URI.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from types import MappingProxyType
from typing import Final


class ArtifactKind(StrEnum):
    """What an artifact is."""

    REMOTE = "a download"
    CLAIM = "a PVC"
    MODELCAR = "a Modelcar"
    IMAGE_VOLUME = "an image volume"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheme:
    """One scheme. pattern: of what follows `://`, as the API server checks it; shape: the same for people.

    account: what two downloads of it share, where they share credentials.
    """

    name: str
    kind: ArtifactKind
    pattern: str
    shape: str
    account: str = ""


SCHEMES: Final = (
    Scheme(name="pvc", kind=ArtifactKind.CLAIM, pattern="[^/].*", shape="PVC/FOLDER"),
    Scheme(
        name="hf",
        kind=ArtifactKind.REMOTE,
        pattern="[^/:]+/[^/:]+(:[^/:]+)?",
        shape="OWNER/MODEL:REVISION",
        account="one token (HF_TOKEN), which needs access to both",
    ),
    Scheme(
        name="s3",
        kind=ArtifactKind.REMOTE,
        pattern="[^/]+/.+",
        shape="BUCKET/FOLDER",
        account="one endpoint and one pair of keys, which need access to both",
    ),
    Scheme(
        name="gs",
        kind=ArtifactKind.REMOTE,
        pattern="[^/]+/.+",
        shape="BUCKET/FOLDER",
        account="one service account key, which needs access to both",
    ),
    Scheme(name="https", kind=ArtifactKind.REMOTE, pattern="[^/]+/.+", shape="HOST/PATH"),
    Scheme(name="oci", kind=ArtifactKind.MODELCAR, pattern=".+", shape="IMAGE:TAG"),
    Scheme(name="oci+native", kind=ArtifactKind.IMAGE_VOLUME, pattern=".+", shape="IMAGE:TAG"),
)
BY_NAME: Final[Mapping[str, Scheme]] = MappingProxyType({each.name: each for each in SCHEMES})
REMOTE: Final = tuple(each.name for each in SCHEMES if each.kind is ArtifactKind.REMOTE)
"""Schemes of downloads, whose URIs may hold keys."""
IMAGES: Final = frozenset({ArtifactKind.MODELCAR, ArtifactKind.IMAGE_VOLUME})


def listed(words: tuple[str, ...]) -> str:
    """`a, b and c`."""
    return f"{', '.join(words[:-1])} and {words[-1]}"


def of_kinds(kinds: frozenset[ArtifactKind]) -> str:
    """The schemes of some kinds, for people."""
    return listed(tuple(each.name for each in SCHEMES if each.kind in kinds))


def pattern() -> str:
    """What a URI looks like, as a regular expression of the API server's (RE2)."""
    forms = (f"{_one_of([each.name for each in some])}://{rest}" for rest, some in _alike(lambda each: each.pattern))
    return f"^({'|'.join(forms)})$"


def shapes() -> str:
    """What a URI looks like, for people."""
    return ", ".join(
        f"{' or '.join(f'{each.name}://' for each in some)}{shape}" for shape, some in _alike(lambda each: each.shape)
    )


def _alike(key: Callable[[Scheme], str]) -> Iterator[tuple[str, list[Scheme]]]:
    """Neighbours that agree in something."""
    return ((value, list(some)) for value, some in groupby(SCHEMES, key))


def _one_of(names: list[str]) -> str:
    first, *others = (name.replace("+", "[+]") for name in names)
    if len(others) == 1 and others[0].startswith(first):
        return f"{first}({others[0].removeprefix(first)})?"
    return f"({'|'.join((first, *others))})" if others else first


SERVED: Final = listed(tuple(f"{each.name}://" for each in SCHEMES))
_COPY: Final = f"copy the model to one of {SERVED}"
_AZURE: Final = "write https://ACCOUNT.blob.core.windows.net/CONTAINER/FOLDER"
UNSERVED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "http": "the connection is not encrypted, so the weights could be changed in transit; use https://",
        "file": "a new pod has no such file; put the model into a PVC (pvc://) or an image (oci://)",
        "hostpath": "pods may move to another node; put the model into a PVC (pvc://) or an image (oci://)",
        **dict.fromkeys(
            ("hdfs", "webhdfs"), f"KServe supports it, but it was never tested with this operator; {_COPY}"
        ),
        **dict.fromkeys(
            ("modelscope", "ms"), f"only KServe 0.21 supports it, and it was never tested with this operator; {_COPY}"
        ),
        "oci+modelcar": "write oci://; KServe's ConfigMap decides whether it is a Modelcar",
        "oci+fetch": "write oci://; KServe's ConfigMap (ociModelMode) decides whether it is fetched",
        "docker": "write oci://IMAGE:TAG",
        "huggingface": "write hf://OWNER/MODEL",
        **dict.fromkeys(("s3a", "s3n"), "write s3://BUCKET/FOLDER"),
        "gcs": "write gs://BUCKET/FOLDER",
        **dict.fromkeys(("az", "azure", "abfs", "abfss", "wasbs"), _AZURE),
    }
)
"""Scheme, and what its users should do."""
