"""What a pod's annotation may ask of the dial; everything else is refused with a sentence."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specdec_runtime.dial import setting

GOOD: dict[str, Any] = {"tokens": 0, "revision": "7f9c4d", "time": 1764283000.5, "decision": "rollback-3"}


def written(**changes: Any) -> bytes:
    """A setting as the annotation has it, with some keys changed; a key that is None is left out."""
    return json.dumps({key: value for key, value in (GOOD | changes).items() if value is not None}).encode()


def test_a_setting_without_an_end_holds_for_an_hour() -> None:
    """`holdFor` is in seconds; what a later release adds is left alone."""
    found = setting.parse(written(later={"key": 1}))
    assert found == setting.Setting(
        tokens=0, revision="7f9c4d", time=1764283000.5, decision="rollback-3", hold_for=3600
    )
    assert found.end == 1764283000.5 + 3600
    assert setting.parse(written(holdFor=600)).hold_for == 600


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"\xff\xfe", "not JSON"),
        (b"off", "not JSON"),
        (b"[" * 4000, "not JSON"),
        (b"[1]", "a JSON list, not an object"),
        (b"x" * 200_000, "more than 4096 bytes"),
        (written(tokens=None), "tokens of the setting is None: it must be a whole number of at least 0"),
        (written(tokens=True), "tokens of the setting is True"),
        (written(tokens=-1), "tokens of the setting is -1"),
        (written(tokens=1.5), "tokens of the setting is 1.5"),
        (written(tokens="off"), "tokens of the setting is 'off'"),
        (written(revision=None), "revision of the setting is None"),
        (written(revision="a b"), "revision of the setting is 'a b'"),
        (written(decision="x" * 129), "decision of the setting is 'xxx"),
        (written(time="now"), "time of the setting is 'now': it must be a number of seconds above 0"),
        (b'{"tokens": 0, "revision": "r", "decision": "d", "time": NaN}', "time of the setting is nan"),
        (b'{"tokens": 0, "revision": "r", "decision": "d", "time": 1e400}', "time of the setting is inf"),
        (written(holdFor=0), "holdFor of the setting is 0: it must be a number of seconds above 0 and at most 86400"),
        (written(holdFor=86401), "holdFor of the setting is 86401"),
    ],
)
def test_garbage_is_refused_with_a_sentence_that_shows_the_way_out(text: bytes, words: str) -> None:
    """What, the value, the rule and the way out, and never all of a long value."""
    with pytest.raises(setting.SettingRefusedError) as refused:
        setting.parse(text)
    assert words in str(refused.value)
    assert "write it as {" in str(refused.value)
    assert len(str(refused.value)) < 400


ANY = st.binary(max_size=300) | st.dictionaries(st.text(), st.integers() | st.text()).map(json.dumps).map(str.encode)


@given(ANY)
def test_no_text_raises_anything_else(text: bytes) -> None:
    """The thread that reads it must live on."""
    with contextlib.suppress(setting.SettingRefusedError):
        setting.parse(text)
