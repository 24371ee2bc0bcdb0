"""Files and Python modules of the image that is replaced, which flags and variables name."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from specdec_command.importing.inference_service import InferenceServiceParts
from specdec_command.importing.manifest import Lost
from specdec_engine.flags import option

_MODULES: Final = ("logits_processors", "middleware", "worker_cls", "worker_extension_cls", "scheduler_cls")
"""Flags whose values are Python modules; io_processor_plugin and similar ones name installed packages."""
_PACKAGES: Final = ("io_processor_plugin", "model_class_overrides")
_FILES: Final = ("chat_template", "tool_parser_plugin", "reasoning_parser_plugin", "tokenizer")
"""Flags whose values may be files below the working folder of the image."""
_NAMED: Final = re.compile(r"(\.{1,2}/)?[\w.-]+(/[\w.-]+)*\.(jinja2?|j2|py|json|ya?ml|txt|pem|crt|key)")
_OF_EVERY_IMAGE: Final = ("/tmp", "/dev", "/proc", "/root/.cache", "/var/run/secrets", "/health", "/v1")  # noqa: S108
_ENGINE: Final = ("vllm.", "vllm_ascend.")
_PATHS_OF_SERVER: Final = ("root_path", "download_dir", "model", "served_model_name")
"""Flags with paths of URLs, or of what the operator places itself."""
_CHECK: Final = "check that the operator's runtime has {}, a path of the old image"
_WAY_OUT: Final = "put it into a ConfigMap or a PVC, mount it with spec.pod.volumes, and set {} in spec.engine.args"


def without_its_files(args: dict[str, Any], parts: InferenceServiceParts) -> Iterator[Lost]:
    """Takes out flags that name files or modules of the old image, and yields them. Objects with a path get a note."""
    mounts = [str(each.get("mountPath")) for each in parts.spec.get("pod", {}).get("volumeMounts", ())]
    for name, value in list(args.items()):
        if name in _PATHS_OF_SERVER:
            continue
        strange = next(_of_image(name, _texts(value), mounts), None)
        if strange is None:
            continue
        if isinstance(value, dict):  # one of many settings, which stay
            parts.notes.append(
                f"{option(name)}: check that the operator's runtime has {strange}, a path of the old image"
            )
            continue
        what = "a Python module" if name in (*_MODULES, *_PACKAGES) and "/" not in strange else "a file"
        way_out = "install it in your own image (spec.engine.image)" if what != "a file" else _WAY_OUT
        why = f"{strange} is {what} of the old image, which the operator's runtime does not have"
        yield Lost(field=option(name), why=why, way_out=way_out.format(option(name)))
        del args[name]


def variables_with_files(parts: InferenceServiceParts) -> Iterator[str]:
    """A note for each variable that names a file which is not in a mounted volume."""
    mounts = [str(each.get("mountPath")) for each in parts.spec.get("pod", {}).get("volumeMounts", ())]
    for each in parts.spec.get("engine", {}).get("env", ()):
        text = each.get("value") if isinstance(each, dict) else None
        if isinstance(text, str) and (strange := next(_of_image("", [text], mounts), None)):
            yield f"env {each.get('name')}: {_CHECK.format(strange)}"


def _of_image(name: str, texts: Iterable[str], mounts: list[str]) -> Iterator[str]:
    """The texts that name something of the image."""
    for text in texts:
        path = text.removeprefix("file://")
        if name in _MODULES or name in _PACKAGES:
            if not path.startswith(_ENGINE) and (name in _PACKAGES or "." in path or ":" in path):
                yield text
        elif path.startswith("/"):
            if not _below(path, (*mounts, *_OF_EVERY_IMAGE)) and not path.startswith("//"):
                yield text
        elif name in _FILES and _NAMED.fullmatch(path):
            yield text


def _below(path: str, folders: Iterable[str]) -> bool:
    return any(f"{path}/".startswith(f"{each.rstrip('/')}/") for each in folders)


def _texts(value: Any) -> Iterator[str]:
    """Every text in a value; of a text that is JSON, those in it."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
    elif isinstance(value, str) and value.startswith(("{", "[")):
        try:
            yield from _texts(json.loads(value))
        except (ValueError, RecursionError):
            yield value
    elif isinstance(value, str):
        yield value
