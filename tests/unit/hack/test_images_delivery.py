"""hack.images.delivery: what travels to the node, and what takes its place where it need not."""

import io
import tarfile
from pathlib import Path

from hack.images import delivery

HELD = {"a" * 64: 3_000_000_000}


def test_a_layer_that_the_node_has_is_an_empty_file_of_its_size_and_stays_here(tmp_path: Path) -> None:
    delivery.prepare(tmp_path, HELD)
    blobs = tmp_path / "blobs" / "sha256"
    (placeholder,) = blobs.iterdir()
    assert placeholder.stat().st_size == 3_000_000_000
    assert placeholder.stat().st_blocks == 0
    (blobs / ("b" * 64)).write_text("a new layer")
    (tmp_path / "index.json").write_text("{}")
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w|") as archive:
        delivery.pack(tmp_path, HELD, archive)
    stream.seek(0)
    with tarfile.open(fileobj=stream) as archive:
        assert archive.getnames() == [f"blobs/sha256/{'b' * 64}", "index.json"]
