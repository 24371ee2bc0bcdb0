"""specdec_runtime.plugin outside vLLM: it must never keep a server from starting."""

import logging

import pytest

from specdec_runtime import plugin


def test_it_never_raises_and_logs_why_it_did_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """Here there is no vLLM to import, which is as bad as it can get."""
    with caplog.at_level(logging.WARNING):
        plugin.register()
    assert all(
        f"the CPU correction of {what} is not installed" in caplog.text for what in ("sampling", "hidden states")
    )


def test_the_original_is_kept_where_it_is_correct(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugin, "is_broken", lambda function: False)
    calls: list[tuple[object, ...]] = []
    plugin._checked(lambda *arguments: calls.append(arguments))(1, 2)
    assert calls == [(1, 2)]


def test_the_original_is_looked_at_once_and_not_called_again_where_it_is_broken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[object] = []
    corrected: list[object] = []

    def look(function: object) -> bool:
        looked.append(function)
        return True

    monkeypatch.setattr(plugin, "is_broken", look)
    monkeypatch.setattr(plugin, "expand", lambda *arguments: corrected.append(arguments))

    def original(*arguments: object) -> None:
        raise AssertionError("the broken function was called")

    expand = plugin._checked(original)
    expand(1)
    expand(2)
    assert looked == [original]
    assert corrected == [(1,), (2,)]
