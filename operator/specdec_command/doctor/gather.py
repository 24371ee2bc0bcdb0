"""Takes the snapshot for `specdec doctor`: many reads, eight at once, and nothing is written.

SubjectAccessReviews are questions too, though they are sent as objects: the API server keeps none of them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from specdec_command.doctor.check_access import Roles, groups_of, permissions
from specdec_command.doctor.objects import HOME, KSERVE_HOME, Operator, first_operator
from specdec_command.doctor.permissions import Grant
from specdec_command.doctor.snapshot import (
    BINDINGS_QUERY,
    CLUSTER_QUERIES,
    REVIEWS_QUERY,
    ROLES_QUERY,
    Home,
    Query,
    QueryAnswer,
    Snapshot,
    Space,
    home_queries,
    kserve_queries,
    leases_query,
    operators_query,
    services_query,
    space_queries,
)
from specdec_operator import __version__
from specdec_operator.display.untrusted import Untrusted
from specdec_operator.errors import Unavailable
from specdec_operator.kube.client import ApiError, KubeClient

_AT_ONCE: Final = 8
_MOST_ITEMS: Final = 500
_MOST_SPACES: Final = 20
_FORBIDDEN: Final = 403
_MISSING: Final = 404
_UNKNOWN_USER: Final = 401


class Onlooker(KubeClient):
    """A user who asks many questions at once, and goes on where some are not answered."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def look(self, query: Query) -> QueryAnswer:
        """The answer. Raises Unavailable where the API server is not there, or does not know the user."""
        options = {"limit": str(_MOST_ITEMS)} if query.verb == "list" else {}
        if query.selector:
            options["labelSelector"] = query.selector
        return await self._answer(query, partial(self.get, query.path, **options))

    async def review(self, operator: Operator, grant: Grant) -> QueryAnswer:
        """A SubjectAccessReview about the operator's service account."""
        need = grant.need
        resource, _, part = need.resource.partition("/")
        act = {"group": need.group, "resource": resource, "subresource": part, "verb": grant.verb}
        spec = {
            "user": operator.user,
            "groups": [*groups_of(operator.namespace)],
            "resourceAttributes": {**act, "namespace": grant.namespace, "name": need.name},
        }
        return await self._answer(REVIEWS_QUERY, partial(self.create, REVIEWS_QUERY.path, {"spec": spec}))

    async def _answer(self, query: Query, request: Callable[[], Awaitable[dict[str, Any]]]) -> QueryAnswer:
        async with self._turns:
            try:
                body = Untrusted(await request())
            except ApiError as error:
                return _refused(query, error, self.server)
        return QueryAnswer(query=query, body=body, cut=bool(body.of("metadata", "continue").text))


def _refused(query: Query, error: ApiError, server: str) -> QueryAnswer:
    if not error.status:
        raise Unavailable(error.reason, f"{server}: {error.answer}") from error
    if error.status == _UNKNOWN_USER:
        words = f"{server} does not accept your credentials; log in again. The API server's answer: {error.answer}"
        raise Unavailable("Unauthorized", words) from error
    if error.status == _MISSING:
        return QueryAnswer(query=query, missing=True)
    words = f"HTTP {error.status}: {error.answer}"
    return QueryAnswer(query=query, unread=Untrusted(words).text, forbidden=error.status == _FORBIDDEN)


async def take_snapshot(user: Onlooker, *, namespace: str | None, service: str | None, home: str | None) -> Snapshot:
    """The snapshot of these services. Raises Unavailable where the API server answers not, or not this user."""
    whole, services, deployments = await asyncio.gather(
        _answers(user, CLUSTER_QUERIES),
        _widely(user, services_query, namespace, user.namespace),
        _widely(user, operators_query, home, HOME),
    )
    operator, names = first_operator(deployments), _namespaces(services, service)
    some = names[:_MOST_SPACES]
    kserve, own, spaces = await asyncio.gather(
        _answers(user, kserve_queries(operator.kserve_namespace if operator else KSERVE_HOME)),
        _of_operator(user, operator, services, some),
        asyncio.gather(*(_answers(user, space_queries(each)) for each in some)),
    )
    return Snapshot(
        server=user.server,
        now=datetime.now(UTC),
        command=__version__,
        service=service,
        operators=deployments,
        services=services,
        spaces=tuple(Space(name=name, **answers) for name, answers in zip(some, spaces, strict=True)),
        more_spaces=len(names) - len(some),
        **(whole | kserve | own),
    )


def _namespaces(services: QueryAnswer, service: str | None) -> tuple[str, ...]:
    """The namespaces of the services that are asked about."""
    metas = (each.of("metadata") for each in services.items)
    return tuple(dict.fromkeys(each.of("namespace").text for each in metas if service in (None, each.of("name").text)))


async def _answers(user: Onlooker, queries: Mapping[str, Query]) -> dict[str, Any]:
    answers = await asyncio.gather(*(user.look(each) for each in queries.values()))
    return dict(zip(queries, answers, strict=True))


async def _widely(user: Onlooker, query: Callable[[str], Query], namespace: str | None, narrow: str) -> QueryAnswer:
    """The answer about a namespace, or about all; where all may not be listed, about a narrow one."""
    answer = await user.look(query(namespace or ""))
    return await user.look(query(narrow)) if answer.forbidden and not namespace else answer


async def _of_operator(
    user: Onlooker, operator: Operator | None, services: QueryAnswer, namespaces: tuple[str, ...]
) -> dict[str, Any]:
    """The parts of the snapshot that are about the operator itself."""
    if operator is None:
        return {}
    queries = {"leases": leases_query(operator.lease[0])} if operator.lease else {}
    home, leases, (grants, reviews) = await asyncio.gather(
        _answers(user, home_queries(operator.namespace)),
        _answers(user, queries),
        _grants(user, operator, services, namespaces),
    )
    return {"home": Home(name=operator.namespace, **home), "grants": grants, "reviews": reviews, **leases}


async def _grants(
    user: Onlooker, operator: Operator, services: QueryAnswer, namespaces: tuple[str, ...]
) -> tuple[tuple[Grant, ...], QueryAnswer | None]:
    """What the operator may do: asked of the API server, or else read from ClusterRoles. And why it got no answer."""
    asked = list(permissions(operator, services.items, namespaces))
    first = await user.review(operator, asked[0])
    if first.unread:
        roles = Roles(roles=await user.look(ROLES_QUERY), bindings=await user.look(BINDINGS_QUERY))
        grants = tuple(replace(each, allowed=roles.allow(operator, each.need, each.verb)) for each in asked)
        return grants, first if any(each.allowed is None for each in grants) else None
    rest = await asyncio.gather(*(user.review(operator, each) for each in asked[1:]))
    allowed = (None if each.unread else each.body.of("status", "allowed").flag for each in (first, *rest))
    return tuple(replace(each, allowed=may) for each, may in zip(asked, allowed, strict=True)), None
