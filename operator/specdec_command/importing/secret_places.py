"""Takes secrets out of a service. A variable reads a Secret that the user creates; other texts get a placeholder."""

from collections.abc import Iterator
from typing import Any, Final

from specdec_command.importing.inference_service import InferenceServiceParts
from specdec_command.importing.manifest import Lost
from specdec_command.importing.secrets import HIDDEN, is_secret_name, masked, names_secret
from specdec_engine.flags import option

_LONG: Final = 8
"""Characters of a secret that is also taken out of longer texts."""
_KEY: Final = "VLLM_API_KEY"
_WHY: Final = "a secret as text, which is not copied"


def without_secret_flags(args: dict[str, Any], parts: InferenceServiceParts) -> Iterator[Lost]:
    """Takes out flags with secrets, and yields them. The key of the API becomes a variable, as vLLM also reads it."""
    for name in [each for each in args if is_secret_name(each)]:
        value = args[name]
        texts = value if isinstance(value, list) else [value]
        if not any(isinstance(each, str) and names_secret(name, each) for each in texts):
            continue
        del args[name]
        if name == "api_key":
            _into_env(parts)
            yield Lost(field=option(name), why=f"{_WHY}; engine.env has {_KEY} instead", way_out=_create(parts, _KEY))
        elif name == "hf_token":
            way_out = "give the token to the component that downloads (docs/staging.md#private-models)"
            yield Lost(field=option(name), why=f"{_WHY}, and the engine downloads nothing", way_out=way_out)
        else:
            way_out = f"put it into a Secret, read it in engine.env, and set {option(name)}=$(NAME) in engine.args"
            yield Lost(field=option(name), why=_WHY, way_out=way_out)


def without_secrets(spec: dict[str, Any], parts: InferenceServiceParts) -> tuple[dict[str, Any], list[Lost]]:
    """The spec without secrets, and the places where they stood."""
    lost: list[Lost] = []
    env = (spec.get("engine") or {}).get("env")
    if isinstance(env, list):
        spec = {**spec, "engine": {**spec["engine"], "env": [_variable(each, parts, lost) for each in env]}}
    return _replaced(spec, "spec", parts, lost), lost


def _variable(each: Any, parts: InferenceServiceParts, lost: list[Lost]) -> Any:
    name, value = (str(each.get("name")), each.get("value")) if isinstance(each, dict) else ("", None)
    if not isinstance(value, str) or (value not in parts.secrets and not names_secret(name, value)):
        return each
    lost.append(Lost(field=f"env {name}", why=_WHY, way_out=_create(parts, name)))
    return _from_secret(parts, name)


def _into_env(parts: InferenceServiceParts) -> None:
    env = list(parts.spec.get("engine", {}).get("env", ()))
    if not any(isinstance(each, dict) and each.get("name") == _KEY for each in env):
        parts.carry([*env, _from_secret(parts, _KEY)], "engine.env", parts.sources.get("spec.engine.env", "env"))


def _from_secret(parts: InferenceServiceParts, key: str) -> dict[str, Any]:
    return {"name": key, "valueFrom": {"secretKeyRef": {"name": _secret(parts), "key": key}}}


def _secret(parts: InferenceServiceParts) -> str:
    return f"{parts.name or 'imported'}-secrets"


def _create(parts: InferenceServiceParts, key: str) -> str:
    place = f" -n {parts.namespace}" if parts.namespace else ""
    return (
        f"the pods wait until the Secret exists: `kubectl create secret generic {_secret(parts)}{place} "
        f"--from-literal={key}=...`"
    )


def _replaced(value: Any, path: str, parts: InferenceServiceParts, lost: list[Lost]) -> Any:
    if isinstance(value, dict):
        return {key: _replaced(each, f"{path}.{key}", parts, lost) for key, each in value.items()}
    if isinstance(value, list):
        return [_replaced(each, f"{path}[{at}]", parts, lost) for at, each in enumerate(value)]
    if not isinstance(value, str):
        return value
    told = masked(value)
    for each in sorted(parts.secrets, key=len, reverse=True):
        told = told.replace(each, HIDDEN) if len(each) >= _LONG else told
    if told != value:
        way_out = f"replace {HIDDEN}, if possible by a reference to a Secret"
        lost.append(Lost(field=path, why=_WHY, way_out=way_out))
    return told
