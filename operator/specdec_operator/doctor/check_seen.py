"""What the user may not read, or what did not answer: said once for each kind of object, never passed over."""

from collections.abc import Iterator
from typing import Final

from specdec_operator.doctor.finding import Area, Finding, Kind, Severity
from specdec_operator.doctor.picture import Look, Picture


def _kinds(id_: str, when: str, why: str) -> dict[Area, Kind]:
    """One kind, as it is found in each area."""
    return {each: Kind(id=id_, area=each, severity=Severity.UNKNOWN, when=when, why=why) for each in Area}


HIDDEN: Final = _kinds(
    "NotReadable",
    "you may not read something that a check needs",
    "what is wrong with it is not seen",
)
SILENT: Final = _kinds(
    "NotAnswered",
    "the API server answered a question of a check with an error",
    "what is wrong with it is not seen",
)
CUT: Final = _kinds(
    "NotAllRead",
    "there are more objects, or more namespaces, than are looked at",
    "what is wrong with the others is not seen",
)
KINDS: Final = tuple(each[Area.KUBERNETES] for each in (HIDDEN, SILENT, CUT))


def check(picture: Picture) -> Iterator[Finding]:
    """One finding for each verb and resource that could not be read, with the places."""
    gathered: dict[tuple[str, str, bool, bool], list[Look]] = {}
    for look in picture.looks():
        if (look.unread or look.cut) and look is not picture.reviews:
            key = look.question.verb, look.question.resource, look.forbidden, bool(look.unread)
            gathered.setdefault(key, []).append(look)
    for looks in gathered.values():
        yield _finding(looks)
    if picture.more_spaces:
        what = f"{picture.more_spaces} namespaces of services were not looked at"
        yield CUT[Area.NAMESPACES].found("", what, "specdec doctor -n NAMESPACE looks at one")


def _finding(looks: list[Look]) -> Finding:
    first = looks[0].question
    places = sorted({each.question.place for each in looks if each.question.place})
    where = (
        f" in {', '.join(places[:3])}" + (f" and {len(places) - 3} more" if len(places) > 3 else "") if places else ""
    )
    if not looks[0].unread:
        what = f"only the first {len(looks[0].items)} {first.resource}{where} were looked at"
        return CUT[first.serves[0]].found(first.resource, what, "specdec doctor -n NAMESPACE looks at less")
    if looks[0].forbidden:
        fix = f"ask whoever administers the cluster for verbs [{first.verb}] on {first.resource}{where}"
        return HIDDEN[first.serves[0]].found(first.resource, f"you may not {first.verb} {first.resource}{where}", fix)
    what = f"{first.resource}{where} could not be read ({looks[0].unread})"
    return SILENT[first.serves[0]].found(first.resource, what, "run specdec doctor again, or look at the API server")
