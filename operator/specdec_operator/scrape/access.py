"""How the metrics of pods are reached that do not answer over plain HTTP: certificates and a token, by reference.

The operator has no permission to read them: a Role in the service's namespace grants it one object by name. They are
read again now and then, and kept nowhere else.
"""

import base64
import re
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Protocol

from specdec_operator.api.guard import PodSource, Reference, Scheme
from specdec_operator.errors import OperatorError, Unavailable

_AGAIN: Final = 60.0
_SOON: Final = 15.0
"""Seconds for which an answer counts, and a failure: a new certificate, token or permission is used that much later."""
_MOST_CHARACTERS: Final = 64 * 1024
_TOKEN: Final = re.compile(r"[\x21-\x7e]+")
"""What a header can carry: other characters would begin a header of their own, or be refused by the library."""
_ACCOUNT: Final = re.compile(r'User "system:serviceaccount:([^":]+:[^":]+)"')


class ObjectReader(Protocol):
    """Reads objects of a cluster."""

    async def find(self, manifest: dict[str, Any]) -> dict[str, Any] | None:
        """The object of a manifest's kind and name; None: there is none. Raises Unavailable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How a pod is asked. port: None: its engine's. name: what its certificate must be for; empty: its address.

    ca: PEM; empty: the certificates of the operator's image. token: empty for none.
    """

    scheme: Scheme = Scheme.HTTP
    port: int | None = None
    name: str = ""
    ca: str = ""
    token: str = ""

    def options(self) -> dict[str, Any]:
        """Of a request, in aiohttp's names."""
        if self.scheme is Scheme.HTTP:
            return {}
        options: dict[str, Any] = {"ssl": _trusting(self.ca)}
        if self.name:
            options["server_hostname"] = self.name
        if self.token:
            options["headers"] = {"Authorization": f"Bearer {self.token}"}
        return options

    def __repr__(self) -> str:
        """Without the token: a representation ends in logs."""
        return f"Access({self.scheme}, port={self.port}, name={self.name!r})"


@lru_cache(maxsize=64)
def _trusting(ca: str) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=ca or None)


class AccessReader:
    """Reads what services refer to. clock: returns seconds."""

    def __init__(self, objects: ObjectReader, clock: Callable[[], float]) -> None:
        self._objects = objects
        self._clock = clock
        self._known: dict[tuple[str, str, str], tuple[float, Mapping[str, str] | OperatorError]] = {}

    async def of(self, namespace: str, source: PodSource | None) -> Access:
        """How the pods of a service are asked. Raises Unavailable with the reference that cannot be read, and why."""
        if source is None:
            return Access()
        ca, token = source.ca_config_map, source.token_secret
        return Access(
            scheme=source.scheme,
            port=source.port,
            name=source.server_name or "",
            ca=_certificates(await self._text(namespace, "ConfigMap", ca), namespace, ca) if ca else "",
            token=_token(await self._text(namespace, "Secret", token), namespace, token) if token else "",
        )

    async def _text(self, namespace: str, kind: str, ref: Reference) -> str:
        field = "caConfigMap" if kind == "ConfigMap" else "tokenSecret"
        about = f"guard.source.pods.{field}: {kind} {namespace}/{ref.name}"
        text = (await self._data(namespace, kind, ref.name, about)).get(ref.key)
        if not text or not text.strip():
            raise Unavailable("ReferenceMissing", f"{about} has nothing at key {ref.key}: add it, or set {field}.key")
        if len(text) > _MOST_CHARACTERS:
            raise Unavailable(
                "ReferenceTooLong",
                f"{about}: {ref.key} has {len(text)} characters, at most {_MOST_CHARACTERS} are read",
            )
        return text.strip()

    async def _data(self, namespace: str, kind: str, name: str, about: str) -> Mapping[str, str]:
        """The texts of an object, as it was read lately."""
        key, now = (namespace, kind, name), self._clock()
        due, found = self._known.get(key, (0.0, Unavailable("Unread", "")))
        if now >= due:
            self._known = {each: value for each, value in self._known.items() if now < value[0]}
            found = await self._asked(namespace, kind, name, about)
            self._known[key] = (now + (_SOON if isinstance(found, OperatorError) else _AGAIN), found)
        if isinstance(found, OperatorError):
            raise found
        return found

    async def _asked(self, namespace: str, kind: str, name: str, about: str) -> Mapping[str, str] | OperatorError:
        try:
            body = await self._objects.find(
                {"apiVersion": "v1", "kind": kind, "metadata": {"namespace": namespace, "name": name}}
            )
        except OperatorError as error:
            return Unavailable(error.reason, f"{about}: {_with_way_out(error.message, namespace, kind, name)}")
        if body is None:
            return Unavailable("ReferenceMissing", f"{about} does not exist: create it, or correct the name")
        data = body.get("data") or {}
        return {each: _decoded(text) for each, text in data.items()} if kind == "Secret" else data


def _certificates(text: str, namespace: str, ref: Reference) -> str:
    try:
        _trusting(text)
    except ssl.SSLError as error:
        where = f"guard.source.pods.caConfigMap: key {ref.key} of ConfigMap {namespace}/{ref.name}"
        raise Unavailable("CertificatesUnusable", f"{where} has no usable certificates in PEM: {error}") from error
    return text


def _token(text: str, namespace: str, ref: Reference) -> str:
    if not _TOKEN.fullmatch(text):
        where = f"guard.source.pods.tokenSecret: key {ref.key} of Secret {namespace}/{ref.name}"
        words = "has spaces, line breaks or other characters that a header cannot carry; store the token alone"
        raise Unavailable("TokenUnusable", f"{where} {words}")
    return text


def _decoded(text: str) -> str:
    return base64.b64decode(text).decode("utf-8", errors="replace")


def _with_way_out(message: str, namespace: str, kind: str, name: str) -> str:
    """The API server's message. If a permission is missing, with the commands that grant this object and no other."""
    account = _ACCOUNT.search(message)
    if account is None:
        return message
    role, resource = f"specdec-metrics-{name}"[:63].rstrip("-."), f"{kind.lower()}s"
    return (
        f"the operator may not read it: run `kubectl -n {namespace} create role {role} --verb=get "
        f"--resource={resource} --resource-name={name}` and `kubectl -n {namespace} create rolebinding {role} "
        f"--role={role} --serviceaccount={account[1]}`"
    )
