"""A minimal first version: a kopf operator of the same objects. We wrote it for this comparison; no user runs it.

It keeps an InferenceService for each object, and every 15 s puts its pod's acceptance into the status. It decides
nothing.
"""

import hashlib
import json
from typing import Any

import aiohttp
import kopf
from kubernetes.aio import client, config
from prometheus_client.parser import text_string_to_metric_families

SIS = ("serving.specdec.io", "v1alpha1", "speculativeinferenceservices")
ISVC = ("serving.kserve.io", "v1beta1")
OWNER, REVISION = "serving.specdec.io/name", "serving.specdec.io/revision"
DRAFTED, ACCEPTED = "vllm:spec_decode_num_draft_tokens_total", "vllm:spec_decode_num_accepted_tokens_total"


@kopf.on.startup()
async def connect(memo: kopf.Memo, **_: Any) -> None:
    """Opens one connection to the API server and one session for all pods."""
    await config.load_config()
    memo.objects = client.CustomObjectsApi(client.ApiClient())
    memo.session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5))


@kopf.on.cleanup()
async def disconnect(memo: kopf.Memo, **_: Any) -> None:
    """Closes both."""
    await memo.session.close()
    await memo.objects.api_client.close()


@kopf.index("pods", labels={OWNER: kopf.PRESENT})
async def addresses(labels: kopf.Labels, status: kopf.Status, **_: Any) -> dict[str, Any]:
    """The addresses of each object's pods."""
    return {labels[OWNER]: status.get("podIP")}


@kopf.on.create(*SIS)
@kopf.on.update(*SIS, field="spec")
async def serve(spec: kopf.Spec, name: str, namespace: str | None, memo: kopf.Memo, **_: Any) -> None:
    """Applies the InferenceService."""
    model, tokens, seqs = spec["model"]["uri"], spec["speculation"]["tokens"], spec["engine"].get("maxNumSeqs", 64)
    drafts = json.dumps({"method": "draft_model", "num_speculative_tokens": tokens})
    args = [f"--model={model}", f"--max-num-seqs={seqs}", f"--speculative-config={drafts}"]
    labels = {OWNER: name, REVISION: hashlib.sha256("".join(args).encode()).hexdigest()[:10]}
    predictor = {"labels": labels, "model": {"modelFormat": {"name": "huggingface"}, "args": args}}
    child = {"apiVersion": "/".join(ISVC), "kind": "InferenceService", "metadata": {"name": name}}
    child |= {"spec": {"predictor": predictor}}
    kopf.adopt(child)
    kopf.label(child, {OWNER: name})
    applied = {"field_manager": "plain-kopf", "force": True, "_content_type": "application/apply-patch+yaml"}
    await memo.objects.patch_namespaced_custom_object(*ISVC, namespace, "inferenceservices", name, child, **applied)


@kopf.timer(*SIS, interval=15, sharp=True)  # type: ignore[arg-type] # kopf gives `addresses` by its name
async def watch(
    name: str, memo: kopf.Memo, patch: kopf.Patch, addresses: kopf.Index[str, str | None], **_: Any
) -> None:
    """Reads the counters of the object's pods and puts the acceptance into the status."""
    drafted = accepted = 0.0
    for address in filter(None, addresses.get(name, ())):
        try:
            async with memo.session.get(f"http://{address}:8080/metrics", raise_for_status=True) as answer:
                page = await answer.text()
        except (aiohttp.ClientError, TimeoutError):
            patch.status["message"] = f"{address} did not answer"
            continue
        samples = [each for family in text_string_to_metric_families(page) for each in family.samples]
        drafted += sum(each.value for each in samples if each.name == DRAFTED)
        accepted += sum(each.value for each in samples if each.name == ACCEPTED)
    if drafted:
        patch.status["acceptance"] = {"rate": accepted / drafted, "draftTokens": int(drafted)}
