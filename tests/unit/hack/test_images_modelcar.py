"""hack.images.modelcar: what goes into a Modelcar, in which layers, and what is refused with an error message."""

from pathlib import Path

import pytest
from hack.cluster.errors import ClusterError
from hack.images import modelcar
from hack.push_model import main

GIB = 2**30


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model as Hugging Face's library leaves it: links to files that only their owner reads."""
    blobs, made = tmp_path / "blobs", tmp_path / "snapshot"
    (made / "original").mkdir(parents=True)
    (made / ".cache").mkdir()
    blobs.mkdir()
    for number, name in enumerate(("config.json", "model.safetensors", "original/params.json", ".cache/lock")):
        blob = blobs / str(number)
        blob.write_text(name)
        blob.chmod(0o600 if number else 0o644)
        (made / name).symlink_to(blob)
    return made


def test_everybody_can_read_what_is_staged_and_hidden_files_are_left_out(folder: Path, tmp_path: Path) -> None:
    """Pods run as another user than the one who downloaded; a link to a blob would lead nowhere in an image."""
    context = tmp_path / "context"
    context.mkdir()
    size = modelcar.stage(folder, context)
    found = {str(path.relative_to(context)): path for path in context.rglob("*") if path.is_file()}
    names = {f"layer-0/models/{name}" for name in ("config.json", "model.safetensors", "original/params.json")}
    assert found.keys() == {"Dockerfile", *names}
    assert all(path.stat().st_mode & 0o444 == 0o444 and not path.is_symlink() for path in found.values())
    assert size == sum(found[name].stat().st_size for name in names)
    assert (folder / "model.safetensors").stat().st_mode & 0o077 == 0


def test_what_is_readable_is_linked_and_takes_no_room(folder: Path, tmp_path: Path) -> None:
    """Weights are staged without a copy where the file system can."""
    context = tmp_path / "context"
    context.mkdir()
    modelcar.stage(folder, context)
    staged = context / "layer-0" / "models" / "config.json"
    assert staged.stat().st_ino == (folder / "config.json").resolve().stat().st_ino


def test_large_files_have_a_layer_each_and_small_ones_share_one() -> None:
    """A registry gives several layers at once."""
    shards = [(Path(f"model-{number}.safetensors"), 5 * GIB) for number in range(3)]
    layers = modelcar.groups([(Path("config.json"), 700), *shards, (Path("tokenizer.json"), 10_000)])
    assert layers == [[Path("config.json"), Path("tokenizer.json")], *([path] for path, _ in shards)]


def test_more_shards_than_an_image_has_layers_are_spread() -> None:
    """No file is lost, and image stores take the image."""
    shards = [(Path(f"model-{number:03}.safetensors"), GIB) for number in range(163)]
    layers = modelcar.groups(shards)
    assert len(layers) <= 100
    assert sorted(path for layer in layers for path in layer) == [path for path, _ in shards]
    assert modelcar.dockerfile(len(layers)).count("COPY layer-") == len(layers)


@pytest.mark.parametrize(
    ("ref", "words"),
    [
        ("registry.example/team/llama", "has no tag: write REGISTRY/NAME:TAG"),
        ("registry.example:5000/team/llama", "has no tag"),
        ("registry.example/Team/llama:1", "is not an image's name"),
        ("registry.example/llama:bad tag", "is not an image's name"),
        ("registry.example//llama:1", "is not an image's name"),
        (":1", "is not an image's name"),
        ("", "IMAGE has no tag"),
    ],
)
def test_a_name_that_no_registry_takes_is_refused_with_the_reason(folder: Path, ref: str, words: str) -> None:
    """Before minutes of copying, not after."""
    with pytest.raises(ClusterError, match=words):
        modelcar.check(folder, ref)


@pytest.mark.parametrize("ref", ["a:1", "registry.example:5000/team/llama-3.1_8b:v1.0", "localhost/tiny__x:1"])
def test_names_that_registries_take_are_taken(folder: Path, ref: str) -> None:
    modelcar.check(folder, ref)


def test_a_folder_that_holds_no_model_is_refused_with_the_reason(folder: Path, tmp_path: Path) -> None:
    """A target and a draft may lie side by side in one folder; nothing at all may not."""
    with pytest.raises(ClusterError, match="is not a folder: MODEL is the folder of a model"):
        modelcar.check(tmp_path / "absent", "a:1")
    with pytest.raises(ClusterError, match=r"there is no config\.json in"):
        modelcar.check(tmp_path / "blobs", "a:1")
    modelcar.check(folder.parent, "a:1")


@pytest.mark.parametrize("words", [[], ["folder"], ["", ""], ["folder", "a:1", "--push"]])
def test_an_incomplete_command_is_answered_with_its_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """`make push-model` without MODEL arrives as empty words."""
    assert main(words) == 2
    assert "make push-model MODEL=folder IMAGE=registry/name:tag" in capsys.readouterr().err
