"""hack.models: what lies in the cache can be read by the pods that mount it."""

import pathlib

from hack.models import store


def test_what_was_written_for_its_owner_only_is_opened_to_all(tmp_path: pathlib.Path) -> None:
    draft = tmp_path / "draft"
    draft.mkdir(mode=0o700)
    weights = draft / "model.safetensors"
    weights.touch(mode=0o600)
    store.open_to_pods(tmp_path)
    assert [each.stat().st_mode & 0o777 for each in (draft, weights)] == [0o755, 0o644]
