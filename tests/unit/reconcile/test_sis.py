"""Reading a sis as the API server has it."""

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.builders import DRAFT, make_sis, make_spec

from specdec_operator.api.spec import Owner
from specdec_operator.errors import Invalid
from specdec_operator.names import HOLD_ANNOTATION, RETRY_ANNOTATION, ROLLBACK_ANNOTATION
from specdec_operator.reconcile.sis import parse, read_sis, service_hash, speculation_hash


def test_a_sis_is_read_with_what_the_user_asked_by_annotation() -> None:
    """Other annotations are not ours."""
    sis = read_sis(make_sis(generation=3, annotations={RETRY_ANNOTATION: "7", "other": "x"}, status={"phase": "X"}))
    assert (sis.owner, sis.generation, sis.retry) == (Owner(name="llama", namespace="team-a", uid="u-1"), 3, "7")
    assert sis.status == {"phase": "X"}
    assert (sis.rollback, sis.held) == (None, False)
    asked = read_sis(make_sis(annotations={ROLLBACK_ANNOTATION: "8", HOLD_ANNOTATION: "x"}))
    assert (asked.retry, asked.rollback, asked.held) == (None, "8", True)
    assert not read_sis(make_sis(annotations={HOLD_ANNOTATION: ""})).held, "an empty value holds nothing"


def test_the_annotations_of_an_object_may_be_read_with_the_spec_before_it() -> None:
    """A spec that cannot run does not keep the user from holding or rolling back what runs."""
    before = read_sis(make_sis(annotations={RETRY_ANNOTATION: "7"}))
    now = make_sis(generation=9, annotations={ROLLBACK_ANNOTATION: "8"}, model={})
    after = parse(now, (before.generation, before.written), ()).older
    assert after == replace(before, retry=None, rollback="8")


@pytest.mark.parametrize(
    ("spec", "another"),
    [
        ({"model": {"uri": "pvc://models/other"}}, True),
        ({"engine": {"accelerator": "nvidia"}}, True),
        ({"resources": {"limits": {"cpu": "2"}}}, True),
        ({"pod": {"nodeSelector": {"gpu": "h200"}}}, True),
        ({"speculation": None}, False),
        ({"speculation": DRAFT | {"tokens": 2}}, False),
        ({"guard": {"failureLimit": 1}}, False),
        ({"replicas": 3}, False),
        ({"rollout": {"strategy": "Replace"}}, False),
    ],
)
def test_another_service_has_another_hash(spec: dict[str, Any], another: bool) -> None:
    """A changed hash forgets the baseline of the service. Its draft and its guard are not part of the hash."""
    assert (service_hash(make_spec(**spec)) != service_hash(make_spec())) is another


def test_fields_of_a_newer_version_are_passed_over() -> None:
    """An older operator survives a newer CRD."""
    body = make_sis(fromTheFuture={"a": 1}, guard={"alsoNew": True})
    body["spec"]["speculation"] = DRAFT | {"newer": 1}
    assert read_sis(body).spec == read_sis(make_sis()).spec


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"speculation": DRAFT | {"method": "telepathy"}}, "spec.speculation.method: 'telepathy': "),
        ({"speculation": DRAFT | {"tokens": 0}}, "spec.speculation.tokens: 0: "),
        ({"guard": {"interval": "15"}}, "spec.guard.interval: '15': "),
        ({"guard": {"window": 120}}, "spec.guard.window: 120: "),
        ({"model": {}}, "spec.model.uri: "),
        ({"replicas": 0}, "spec.replicas: 0: "),
    ],
)
def test_what_cannot_be_read_is_named(spec: dict[str, Any], words: str) -> None:
    """The CRD refuses it first; an object from before a stricter CRD still comes here."""
    with pytest.raises(Invalid) as refused:
        read_sis(make_sis(**spec))
    assert refused.value.message.startswith(words)


@pytest.mark.parametrize(
    "speculation",
    [
        None,
        DRAFT | {"tokens": 2},
        DRAFT | {"draft": {"uri": "pvc://models/other"}},
        DRAFT | {"draft": {"uri": "pvc://models/draft", "path": "x"}},
        {"method": "ngram", "tokens": 4},
        {"method": "ngram", "tokens": 4, "ngram": {"lookupMin": 3}},
    ],
)
def test_another_speculation_has_another_hash(speculation: dict[str, Any] | None) -> None:
    """A changed hash forgets an earlier rollback."""
    assert speculation_hash(make_spec(speculation=speculation)) != speculation_hash(make_spec())


def test_the_same_meaning_has_the_same_hash() -> None:
    """The order of keys, defaults that are written out, and the rest of the spec do not count."""
    turned = {key: DRAFT[key] for key in reversed(DRAFT)} | {"ngram": None}
    assert speculation_hash(make_spec(speculation=turned, replicas=3)) == speculation_hash(make_spec())
    written = {"method": "ngram", "tokens": 4, "ngram": {"lookupMin": 2, "lookupMax": 5}}
    left_out = written | {"ngram": {}}
    assert speculation_hash(make_spec(speculation=written)) == speculation_hash(make_spec(speculation=left_out))


def test_an_old_name_of_mtp_is_mtp() -> None:
    """Another name of the same method is not another speculation: nothing is forgotten, nothing rolls out."""
    old, new = ({"method": word, "tokens": 1} for word in ("glm4_moe_mtp", "mtp"))
    assert read_sis(make_sis(speculation=old)).speculation == read_sis(make_sis(speculation=new)).speculation
