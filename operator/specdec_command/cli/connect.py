"""The services of a cluster as the user may see them, and errors as sentences."""

import asyncio
import difflib
import re
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from specdec_engine.quantity import parse_duration
from specdec_operator import names
from specdec_operator.display.describe import listed
from specdec_operator.errors import OperatorError, Unavailable

if TYPE_CHECKING:
    from specdec_operator.kube.client import ApiError, KubeClient

Body = dict[str, Any]

INTERRUPTED: Final = 130
_KIND: Final = f"{names.PLURAL}.{names.GROUP}"
_WORD: Final = re.compile(r"[a-z0-9]([-.a-z0-9]*[a-z0-9])?")
_MOST_NAMES: Final = 20


def seconds_of(option: str, text: str) -> float:
    """A duration of the command line, in seconds."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(f"{option}: {error}") from error


def checked(word: str | None) -> str | None:
    """A name as Kubernetes takes it: it becomes a part of a URL."""
    if word is not None and not _WORD.fullmatch(word):
        raise typer.BadParameter(f"{word!r} is not a valid name: use a-z, 0-9, '-' and '.'")
    return word


Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the service.", callback=checked)]
AnyName = Annotated[
    str | None,
    typer.Argument(metavar="NAME", help="Name of the service. Default: list all services.", callback=checked),
]
Namespace = Annotated[
    str | None,
    typer.Option("-n", "--namespace", help="Namespace of the service. Default: that of the context.", callback=checked),
]
Context = Annotated[str | None, typer.Option(help="Context in the kubeconfig. Default: the current one.")]
Kubeconfig = Annotated[str | None, typer.Option(help="Default: KUBECONFIG, or ~/.kube/config.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterChoice:
    """Which cluster, as which user, which namespace. None: the kubeconfig's own."""

    namespace: str | None
    context: str | None
    kubeconfig: str | None


class NamespaceServices:
    """The services of one namespace. Every method raises Unavailable with a sentence, and the fix if there is one."""

    def __init__(self, cluster: "KubeClient", namespace: str) -> None:
        self._cluster = cluster
        self.namespace = namespace

    async def one(self, name: str) -> Body:
        """A service."""
        return await self._asked(self._cluster.get(self._path(name)), "get", name)

    async def all(self, *, everywhere: bool, table: bool = False) -> Body:
        """The list of all services, of the namespace or of all namespaces; table: as `kubectl get` shows them."""
        path = names.services_path("" if everywhere else self.namespace)
        answer = self._cluster.table(path) if table else self._cluster.get(path)
        return await self._asked(answer, "list", "", everywhere=everywhere)

    async def annotate(self, name: str, annotation: str, value: str | None) -> Body:
        """Sets an annotation of a service, or removes it; returns the service as it is then."""
        body = {"metadata": {"annotations": {annotation: value}}}
        return await self._asked(self._cluster.merge(self._path(name), body), "patch", name)

    def _path(self, name: str) -> str:
        return names.services_path(self.namespace, name)

    async def _asked(
        self, answer: Coroutine[Any, Any, Body], verb: str, name: str, *, everywhere: bool = False
    ) -> Body:
        from specdec_operator.kube.client import ApiError  # noqa: PLC0415 - kubernetes takes long to import

        try:
            return await answer
        except ApiError as error:
            if error.status == 404 and name:
                raise Unavailable("NoSuchService", await self._no_such(name)) from error
            place = "in all namespaces" if everywhere else f"in namespace {self.namespace}"
            raise self._in_words(error, verb, place) from error

    def _in_words(self, error: "ApiError", verb: str, place: str) -> Unavailable:
        server, answer = self._cluster.server, f"The API server's answer: {error.answer}"
        match error.status:
            case 0:
                return Unavailable(error.reason, f"{server}: {error.answer}")
            case 404:
                missing = f"{server} has no {_KIND}: its CRD is not installed"
                return Unavailable("NoCRD", f"{missing}; run kubectl apply -f crds/, or check --context")
            case 403:
                message = (
                    f"you have no permission to {verb} {_KIND} {place}; an administrator can grant it with a Role with "
                    f"apiGroups [{names.GROUP}], resources [{names.PLURAL}], verbs [{verb}]. {answer}"
                )
                return Unavailable("Forbidden", message)
            case 401:
                return Unavailable("Unauthorized", f"{server} does not accept your credentials; log in again. {answer}")
        return Unavailable("ApiError", f"{server}: HTTP {error.status}: {error.answer}")

    async def _no_such(self, name: str) -> str:
        """The services that exist instead. If these may not be read, only that there is no such service."""
        missing = f"namespace {self.namespace} has no service {name}"
        try:
            here = _named(await self.all(everywhere=False))
            others = [] if here else _named(await self.all(everywhere=True), with_namespace=True)
        except Unavailable as error:
            if error.reason == "Forbidden":
                return missing
            raise
        if not here and not others:
            return f"{missing}, and the cluster has no services"
        near = difflib.get_close_matches(name, here, n=1)
        there = f"; did you mean {near[0]}?" if near else ";"
        return f"{missing}{there} existing services: {listed(sorted(here or others), _MOST_NAMES)}"


def _named(listed: Body, *, with_namespace: bool = False) -> list[str]:
    metas = [each["metadata"] for each in listed.get("items", ())]
    return [f"{each['namespace']}/{each['name']}" if with_namespace else each["name"] for each in metas]


@asynccontextmanager
async def services(where: ClusterChoice) -> AsyncIterator[NamespaceServices]:
    """A connection for as long as the block. Raises Unavailable if no kubeconfig names a cluster."""
    from specdec_operator.kube.client import KubeClient  # noqa: PLC0415 - kubernetes takes long to import

    async with await KubeClient.as_user(where.kubeconfig, where.context) as cluster:
        yield NamespaceServices(cluster, where.namespace or cluster.namespace)


def done(work: Coroutine[Any, Any, int], *, failed: int = 1, interrupted: int = INTERRUPTED) -> None:
    """Does the work of a command and ends it: with its exit code, or with `failed` and a message about the error."""
    try:
        code = asyncio.run(work)
    except OperatorError as error:
        typer.echo(f"error: {error.message}", err=True)
        raise typer.Exit(failed) from error
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise typer.Exit(interrupted) from None
    raise typer.Exit(code)
