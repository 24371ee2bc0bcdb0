"""`python -m lab.staging.matrix --out docs/staging/matrix.json`: what each KServe makes of every mix of artifacts.

For each version an API server with that KServe and the controllers of Kubernetes, no node. Each mix is rendered and
applied in each form, whether the operator refuses it or not; the pod that comes out is read for target and draft.
"""

import argparse
import asyncio
import json
import pathlib
import tempfile
import time
from collections.abc import Sequence
from typing import Any, Final

from hack.cluster.versions import KUBERNETES
from hack.kserve.versions import SUMS, KServeChoice
from hack.machine import origin
from tests.wire.api import Api
from tests.wire.controllers import IMAGE_VOLUMES, install_runtimes, kserve

from lab.staging import matrix_pod as pods
from lab.staging.matrix_behaviours import behaviours, install_keda, with_keda
from lab.staging.matrix_cluster import Made, Namespace, allow_lists, bare, cluster, detected
from lab.staging.matrix_rows import Asked, every, operators
from lab.staging.page import Row
from specdec_operator.staging.kserve import KServe, shown

Object = dict[str, Any]
_MAIN: Final = "s3"
"""The name in a row's answer for the result of its downloads; another scheme is listed if its result differs."""


def main() -> None:
    """Asks the versions and writes the file; versions that are not asked stay as they were."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, help="the file; printed where none is named")
    parser.add_argument("--version", action="append", choices=sorted(SUMS), help="one of KServe's; all by default")
    found = parser.parse_args()
    versions = found.version or sorted(SUMS)
    kept = json.loads(found.out.read_text())["runs"] if found.out and found.out.exists() else []
    runs = [each for each in kept if each["kserve"] not in versions]
    for version in versions:
        runs += asked(version)
    written = text(sorted(runs, key=lambda each: (each["kserve"], each["patched"])))
    if not found.out:
        print(written, end="")
        return
    found.out.parent.mkdir(parents=True, exist_ok=True)
    found.out.write_text(written)


def text(runs: Sequence[Object]) -> str:
    """The file: one answer a line."""
    head = {"origin": origin(), "kubernetes": KUBERNETES, "gate": IMAGE_VOLUMES}
    body = json.dumps({**head, "runs": list(runs)}, indent=1)
    return f"{body}\n"


def asked(version: str) -> list[Object]:
    """The runs of one version: as installed, and, where lists of downloads are refused then, with the one patch."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_asked(version, pathlib.Path(folder)))


async def _asked(version: str, folder: pathlib.Path) -> list[Object]:
    async with cluster(version, folder / "whole") as api:
        runs = [await run(api, version, patched=False)]
        if not runs[0]["detected"]["multi_download"]:
            await allow_lists(api)
            runs.append(await run(api, version, patched=True))
    answers, release = await behaviour(version, folder / "behaviour")
    runs[0] |= {"keda": release, "behaviours": answers}
    return runs


async def run(api: Api, version: str, *, patched: bool) -> Object:
    """Every mix on a cluster as it is."""
    started = time.monotonic()
    cluster_is = await detected(api)
    namespace = Namespace(api=api, name="patched" if patched else "asked")
    wanted = every(namespace.name)
    await namespace.create([each.manifest for each in wanted])
    made = await namespace.made([each.name for each in wanted])
    seconds = round(time.monotonic() - started)
    print(f"KServe {version}{' patched' if patched else ''}: {len(wanted)} services in {seconds} s", flush=True)
    return {
        "kserve": version,
        "patched": patched,
        "detected": _detected(cluster_is),
        "seconds": seconds,
        "services": len(wanted),
        "rows": _rows(wanted, made, cluster_is),
    }


def _detected(found: KServe) -> Object:
    version = shown(found.version) if found.version else None
    return {"version": version, "multi_download": found.multi_download, "oci_mode": found.oci_mode, "seen": found.seen}


def _rows(wanted: Sequence[Asked], made: dict[str, Made], cluster_is: KServe) -> list[Object]:
    by_row: dict[tuple[str, str, str], list[Asked]] = {}
    for each in wanted:
        by_row.setdefault((each.row.target, each.row.draft, each.row.mode), []).append(each)
    return [_row(some[0].row, some, made, cluster_is) for some in by_row.values()]


def _row(row: Row, some: Sequence[Asked], made: dict[str, Made], cluster_is: KServe) -> Object:
    found = {
        scheme: _of_scheme(row, scheme, some, made, cluster_is) for scheme in dict.fromkeys(s.scheme for s in some)
    }
    head = {"target": row.target, "draft": row.draft, "mode": row.mode}
    first = found[_MAIN]
    brief = {name: each for name, each in found.items() if each["outcome"] != first["outcome"]}
    return {**head, **first, **({"schemes": brief} if brief else {})}


def _of_scheme(row: Row, scheme: str, some: Sequence[Asked], made: dict[str, Made], cluster_is: KServe) -> Object:
    """What became of a row with one spelling of its downloads, and what the operator does about it."""
    forms = {each.form.value: answer(each, made[each.name]) for each in some if each.scheme == scheme}
    ours = operators(row, scheme, cluster_is)
    served = any(each["outcome"] == "served" for each in forms.values())
    if ours.refused:
        outcome = "refused by the operator alone" if served else "refused"
    else:
        outcome = str(forms[ours.form.value]["outcome"])
    return {
        "outcome": outcome,
        "form": ours.form.value,
        "rules": list(ours.refused),
        "forms": forms,
    }


def answer(wanted: Asked, made: Made) -> Object:
    """What became of one InferenceService."""
    if made.pod is None:
        outcome = f"refused by {made.by}" if made.words else "nothing made"
        return {"outcome": outcome, "by": made.by, "words": made.words, "deployment": made.deployment is not None}
    there = {role: pods.content(made.pod, path) for role, path in pods.flags(made.pod).items()}
    lost = [role for role, uri in wanted.wanted.items() if there.get(role) != uri]
    outcome = f"made without {' and '.join(lost)}" if lost else "served"
    if not lost and (hidden := pods.nested(made.pod)):
        outcome, lost = "mounts within a read-only mount", hidden
    return {"outcome": outcome, "by": "", "words": "", "deployment": True, **pods.shape(made.pod)}


async def behaviour(version: str, folder: pathlib.Path) -> tuple[dict[str, str], str]:
    """What a version does about pods and scaling, on a cluster of its own: a controller with many failed services to
    repeat makes no HPA for minutes. It looks for KEDA's CRD when it starts, so it starts twice. And KEDA's version.
    """
    async with bare(folder) as (api, kubeconfig):
        with kserve(kubeconfig, KServeChoice(version=version)):
            install_runtimes(kubeconfig)
            await allow_lists(api)
            answers = await behaviours(api)
        installed = await install_keda(api, version)
        with kserve(kubeconfig, KServeChoice(version=version)):
            return answers | {"autoscalerClass keda with KEDA's CRD": await with_keda(api)}, installed


if __name__ == "__main__":
    main()
