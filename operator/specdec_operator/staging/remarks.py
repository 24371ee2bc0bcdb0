"""What the user of a layout should know, whatever the KServe: it works, and may surprise."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from specdec_operator.engine.rule import Finding, Rule, Severity
from specdec_operator.staging.artifacts import Artifact, Way

Json = Mapping[str, Any]
_STORAGE: Final = "kserve-storage, kserve_storage.py"

ONE_ACCOUNT: Final = Rule(
    id="STAGING-ONE-ACCOUNT",
    severity=Severity.NOTED,
    says="Target and draft are downloaded with one set of credentials, even where two accounts own them.",
    source="KServe, pkg/credentials",
)
MOVES: Final = Rule(
    id="STAGING-MOVES",
    severity=Severity.NOTED,
    says="A download without a revision is whatever lies there when it is made.",
    source=_STORAGE,
)
ONE_FILE: Final = Rule(
    id="STAGING-ONE-FILE",
    severity=Severity.WARNED,
    says="https:// brings a folder only as an archive, a git repository or an Azure blob prefix.",
    source=_STORAGE,
)
ONE_NODE: Final = Rule(
    id="STAGING-ONE-NODE",
    severity=Severity.WARNED,
    says="A ReadWriteOnce claim is mounted on one node at a time.",
    source="Kubernetes, persistent volumes",
)

RULES: Final = (ONE_ACCOUNT, MOVES, ONE_FILE, ONE_NODE)

_DOWNLOADED: Final = frozenset({Way.DOWNLOAD, Way.JOB})
_FOLDERS: Final = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz", ".git")
_AZURE: Final = (".core.windows.net", ".storage.azure.net")
_ACCOUNTS: Final = {
    "hf": "one token (HF_TOKEN), which must be let into both",
    "s3": "one endpoint and one pair of keys, which must open both",
    "gs": "one service account key, which must open both",
}


def remarks(spec: Json, found: tuple[Artifact, ...]) -> Iterator[Finding]:
    """What is to be said about these artifacts, each of which is brought by itself."""
    downloaded = [each for each in found if each.way in _DOWNLOADED]
    yield from _accounts(downloaded)
    for each in downloaded:
        field, uri = f"{each.source.field}.uri", each.source.uri
        if each.source.scheme == "hf" and ":" not in uri.removeprefix("hf://"):
            way = "once" if each.way is Way.JOB else "whenever a pod starts"
            yield MOVES.broken(field, uri, f"names no revision: {way}, the newest is downloaded; add :REVISION")
        if each.source.scheme == "https" and not _is_folder(each):
            yield ONE_FILE.broken(field, uri, f"{ONE_FILE.says} This brings one file, which alone is hardly a model")
    if any(each.way is Way.JOB for each in found):
        yield from _one_node(spec)


def _accounts(found: list[Artifact]) -> Iterator[Finding]:
    if len(found) < 2:
        return
    target, draft = found[0].source, found[1].source
    if target.scheme == draft.scheme and target.place != draft.place and (account := _ACCOUNTS.get(draft.scheme)):
        message = f"{target.scheme}://{target.place} and {draft.scheme}://{draft.place} are read with {account}"
        yield ONE_ACCOUNT.broken(f"{draft.field}.uri", draft.uri, message)


def _is_folder(artifact: Artifact) -> bool:
    host = artifact.source.place.partition(":")[0]
    return artifact.source.uri.endswith(_FOLDERS) or host.endswith(_AZURE)


def _one_node(spec: Json) -> Iterator[Finding]:
    claim: Json = (spec.get("staging") or {}).get("claim") or {}
    modes = claim.get("accessModes") or ["ReadWriteOnce"]
    if spec.get("replicas", 1) > 1 and modes == ["ReadWriteOnce"]:
        message = f"{spec['replicas']} pods on one node only: ReadWriteMany lets several nodes mount the claim"
        yield ONE_NODE.broken("spec.staging.claim.accessModes", modes, message)
