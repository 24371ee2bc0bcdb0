"""The place, the materials and the maker of an artifact: predicates of SLSA provenance 1, for cosign to sign.

docs/supply-chain.md describes each field.
"""

import hashlib
import pathlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from hack.release import dockerfile, names
from hack.release.pushed import Pushed, ReleaseRefused

_TYPE: Final = "https://serving.specdec.io/release"
_ASKED: Final = ("SERVER_URL", "REPOSITORY", "SHA", "REF", "WORKFLOW_REF", "RUN_ID", "RUN_ATTEMPT")
_PACKAGES: Final = ("pyproject.toml", "uv.lock", "hack/images/requirements/backend.txt")

Predicate = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRun:
    """One run of a release. builder: who made it; invocation: which run of it; source: the repository, at a commit."""

    builder: str
    invocation: str
    source: str
    ref: str
    commit: str


def of_workflow(environment: Mapping[str, str]) -> ReleaseRun:
    """Read the variables that a workflow has. Raises Refused where one is missing."""
    found = {name: environment.get(f"GITHUB_{name}", "") for name in _ASKED}
    if missing := [f"GITHUB_{name}" for name in _ASKED if not found[name]]:
        raise ReleaseRefused(
            f"environment: no {', '.join(missing)}: provenance is of a run of .github/workflows/release.yaml"
        )
    source = f"{found['SERVER_URL']}/{found['REPOSITORY']}"
    return ReleaseRun(
        builder=f"{found['SERVER_URL']}/{found['WORKFLOW_REF']}",
        invocation=f"{source}/actions/runs/{found['RUN_ID']}/attempts/{found['RUN_ATTEMPT']}",
        source=source,
        ref=found["REF"],
        commit=found["SHA"],
    )


def of_image(
    run: ReleaseRun, target: str, arch: str, given: Mapping[str, str], root: pathlib.Path = dockerfile.ROOT
) -> Predicate:
    """Of one image: Dockerfile, target, processor, arguments, bases by digest, the files that pin what it installs."""
    arguments = {name: value for name, value in given.items() if value}
    if faults := dockerfile.faults(target, arguments, root):
        raise ReleaseRefused("\n".join(faults))
    stands = [_base(each) for each in dockerfile.bases(target, arguments, root)]
    asked = {"dockerfile": dockerfile.FILES[target], "target": target, "platform": f"linux/{arch}"}
    made_of = [*stands, *_files(dockerfile.files(target, root), root)]
    return _predicate(run, "image", asked | {"arguments": arguments}, made_of)


def of_index(run: ReleaseRun, target: str, parts: Iterable[Pushed]) -> Predicate:
    """Of the one name of a target: the images for each processor, whose own provenance lists their materials."""
    return _predicate(run, "index", {"target": target}, [each.dependency for each in parts])


def of_chart(run: ReleaseRun, images: Mapping[str, Pushed], root: pathlib.Path = dockerfile.ROOT) -> Predicate:
    """Of the packaged chart: the images whose digests were written into it."""
    asked = {"chart": "charts/specdec-operator", "version": names.version(root)}
    return _predicate(run, "chart", asked, [each.dependency for each in images.values()])


def of_files(run: ReleaseRun, root: pathlib.Path = dockerfile.ROOT) -> Predicate:
    """Of the wheel, the source archive and the plugin's archives: what pins the packages in them and their tools."""
    return _predicate(run, "packages", {"version": names.version(root)}, _files(_PACKAGES, root))


def _predicate(run: ReleaseRun, kind: str, asked: Mapping[str, Any], made_of: Iterable[Mapping[str, Any]]) -> Predicate:
    source = {"uri": f"git+{run.source}@{run.ref}", "digest": {"gitCommit": run.commit}}
    return {
        "buildDefinition": {
            "buildType": f"{_TYPE}/{kind}/v1",
            "externalParameters": {"source": source, **asked},
            "resolvedDependencies": [source, *made_of],
        },
        "runDetails": {"builder": {"id": run.builder}, "metadata": {"invocationId": run.invocation}},
    }


def _base(base: dockerfile.Base) -> dict[str, Any]:
    name, _, digest = base.image.partition("@sha256:")
    return {"uri": f"docker://{name}", "digest": {"sha256": digest}, "annotations": {"argument": base.argument}}


def _files(paths: Iterable[str], root: pathlib.Path) -> list[dict[str, Any]]:
    return [
        {"name": path, "digest": {"sha256": hashlib.sha256((root / path).read_bytes()).hexdigest()}} for path in paths
    ]
