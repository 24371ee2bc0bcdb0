"""Takes the picture that `specdec doctor` looks at: many reads, eight at once, and nothing is written.

SubjectAccessReviews are questions too, though they are sent as objects: the API server keeps none of them.
"""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from specdec_operator import __version__
from specdec_operator.cli.found import Found
from specdec_operator.cluster import AsUser, Refused
from specdec_operator.doctor import questions
from specdec_operator.doctor.check_access import questions as permissions
from specdec_operator.doctor.granted import Roles
from specdec_operator.doctor.needs import Need
from specdec_operator.doctor.operators import HOME, KSERVE_HOME, Operator, operators
from specdec_operator.doctor.picture import Grant, Look, Picture, Question, Space
from specdec_operator.errors import Unavailable

_AT_ONCE: Final = 8
_MOST_ITEMS: Final = 500
_MOST_SPACES: Final = 20
_FORBIDDEN: Final = 403
_MISSING: Final = 404
_UNKNOWN_USER: Final = 401


class Onlooker(AsUser):
    """A user who asks many questions at once, and goes on where some are not answered."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._turns = asyncio.Semaphore(_AT_ONCE)

    async def look(self, question: Question) -> Look:
        """The answer. Raises Unavailable where the API server is not there, or does not know the user."""
        more: dict[str, Any] = {"query_params": [("limit", _MOST_ITEMS)]} if question.verb == "list" else {}
        if question.selector:
            more["query_params"].append(("labelSelector", question.selector))
        return await self._told(question, "get", more)

    async def review(self, account: str, namespace: str, need: Need, verb: str, place: str) -> Look:
        """A SubjectAccessReview about a service account of a namespace; place: empty for all namespaces."""
        resource, _, part = need.resource.partition("/")
        asked = {"group": need.group, "resource": resource, "subresource": part, "verb": verb}
        groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"]
        spec = {
            "user": f"system:serviceaccount:{namespace}:{account}",
            "groups": groups,
            "resourceAttributes": {**asked, "namespace": place, "name": need.name},
        }
        return await self._told(questions.REVIEWS, "post", {"body": {"spec": spec}})

    async def _told(self, question: Question, method: str, more: dict[str, Any]) -> Look:
        async with self._turns:
            try:
                body = Found(await self._ask(method, question.path, **more))
            except Refused as error:
                return _refused(question, error, self.server)
            except Unavailable as error:
                raise Unavailable(error.reason, f"{self.server}: {error.message}") from error
        return Look(question=question, body=body, cut=bool(body.of("metadata", "continue").text))


def _refused(question: Question, error: Refused, server: str) -> Look:
    if error.status == _UNKNOWN_USER:
        words = f"{server} does not know you; log in again. The API server says: {error.message}"
        raise Unavailable("Unauthorized", words) from error
    if error.status == _MISSING:
        return Look(question=question, missing=True)
    words = f"HTTP {error.status}: {error.message}"
    return Look(question=question, unread=Found(words).text, forbidden=error.status == _FORBIDDEN)


async def picture_of(user: Onlooker, *, namespace: str | None, service: str | None, home: str | None) -> Picture:
    """The whole picture of these services. Raises Unavailable where the API server answers not, or not this user."""
    whole, served, run = await asyncio.gather(
        _answers(user, questions.CLUSTER), _services(user, namespace), _operators(user, home)
    )
    operator, spaces = next(iter(operators(run)), None), _places(served, service)
    some = spaces[:_MOST_SPACES]
    kserve, own, beside, lease, (grants, reviews) = await asyncio.gather(
        _kserve(user, operator),
        _home(user, operator),
        asyncio.gather(*(_space(user, each) for each in some)),
        _lease(user, operator),
        _grants(user, operator, served, some),
    )
    return Picture(
        server=user.server,
        now=datetime.now(UTC),
        command=__version__,
        service=service,
        operators=run,
        services=served,
        lease=lease,
        home=own,
        spaces=tuple(beside),
        more_spaces=len(spaces) - len(some),
        grants=grants,
        reviews=reviews,
        **(whole | kserve),
    )


def _places(served: Look, service: str | None) -> tuple[str, ...]:
    """The namespaces of the services that are asked about."""
    named = (each.of("metadata", "namespace").text for each in served.items if service in (None, _name(each)))
    return tuple(dict.fromkeys(named))


def _name(found: Found) -> str:
    return found.of("metadata", "name").text


async def _answers(user: Onlooker, asked: Mapping[str, Question]) -> dict[str, Any]:
    looks = await asyncio.gather(*(user.look(each) for each in asked.values()))
    return dict(zip(asked, looks, strict=True))


async def _services(user: Onlooker, namespace: str | None) -> Look:
    """Those of a namespace, or of all; where all may not be listed, those of the kubeconfig's own."""
    found = await user.look(questions.services(namespace or ""))
    return await user.look(questions.services(user.namespace)) if found.forbidden and not namespace else found


async def _operators(user: Onlooker, home: str | None) -> Look:
    found = await user.look(questions.operators(home or ""))
    return await user.look(questions.operators(HOME)) if found.forbidden and not home else found


async def _kserve(user: Onlooker, operator: Operator | None) -> dict[str, Any]:
    return await _answers(user, questions.kserve(operator.kserve_namespace if operator else KSERVE_HOME))


async def _space(user: Onlooker, name: str) -> Space:
    return Space(name=name, **await _answers(user, questions.space(name)))


async def _home(user: Onlooker, operator: Operator | None) -> Space | None:
    """The operator's namespace: of it only its labels and NetworkPolicies are looked at."""
    if operator is None:
        return None
    asked = questions.space(operator.namespace)
    found = await _answers(user, {each: asked[each] for each in ("itself", "policies")})
    rest = {each: Look(question=question, missing=True) for each, question in asked.items() if each not in found}
    return Space(name=operator.namespace, **found, **rest)


async def _lease(user: Onlooker, operator: Operator | None) -> Look | None:
    if operator is None or operator.lease is None:
        return None
    return await user.look(questions.lease(*operator.lease))


async def _grants(
    user: Onlooker, operator: Operator | None, served: Look, spaces: tuple[str, ...]
) -> tuple[tuple[Grant, ...], Look | None]:
    """What the operator may do: asked of the API server, or else read from ClusterRoles. And why it was not told."""
    if operator is None:
        return (), None
    downloads = any(_mode(each) == "PersistentVolumeClaim" for each in served.items)
    asked = list(permissions(operator, downloads=downloads, namespaces=spaces))
    first = await user.review(operator.account, operator.namespace, *asked[0])
    if first.unread:
        return await _by_roles(user, operator, asked, first)
    rest = await asyncio.gather(*(user.review(operator.account, operator.namespace, *each) for each in asked[1:]))
    told = zip(asked, (first, *rest), strict=True)
    return tuple(_grant(*each, None if look.unread else _allowed(look)) for each, look in told), None


async def _by_roles(
    user: Onlooker, operator: Operator, asked: list[tuple[Need, str, str]], first: Look
) -> tuple[tuple[Grant, ...], Look | None]:
    roles, bindings = await asyncio.gather(user.look(questions.ROLES), user.look(questions.BINDINGS))
    read = Roles(roles=roles, bindings=bindings)
    grants = tuple(_grant(*each, read.grant(operator, each[0], each[1])) for each in asked)
    return grants, first if any(each.allowed is None for each in grants) else None


def _grant(need: Need, verb: str, namespace: str, allowed: bool | None) -> Grant:
    return Grant(need=need, verb=verb, namespace=namespace, allowed=allowed)


def _allowed(look: Look) -> bool:
    return look.body.of("status", "allowed").flag


def _mode(service: Found) -> str:
    return service.of("spec", "staging", "mode").text
