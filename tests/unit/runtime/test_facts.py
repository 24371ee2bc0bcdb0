"""What the runtime reports about the models that it loads."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hack.models import tensors

from specdec_runtime import facts, preflight
from specdec_runtime.flags import Flags, read
from specdec_runtime.preflight import device, surroundings

CONFIG = {
    "hidden_size": 8,
    "_name_or_path": "/home/me",
    "chat_template": "x" * 500,
    "text_config": {"_from": "a", "b": 1},
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(facts, "path", lambda: tmp_path / "facts.json")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def model(folder: Path, name: str, size: int = 64) -> Path:
    """A folder with a config and one tensor of so many bytes."""
    made = folder / name
    made.mkdir()
    (made / "config.json").write_text(json.dumps(CONFIG))
    tensors.write(made / tensors.FILE, {"a": tensors.Tensor(dtype="BF16", shape=(size // 2,), data=bytes(size))})
    return made


def case(target: Path, draft: Path | None = None) -> Any:
    """What preflight would look at, on a device of 1000 bytes."""
    speculation = {"method": "draft_model", "model": str(draft)} if draft else None
    flags = Flags(args={"model": str(target)}, speculation=speculation)
    memory = device.FreeMemory(where="here", total=1000, free=10)
    return preflight.gather(flags, surroundings.Surroundings(memory=memory))


def asked(path: str = "/specdec/facts", **scope: Any) -> tuple[int, bytes]:
    sent: list[Any] = []

    async def app(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b"vLLM"})

    async def keep(message: Any) -> None:
        sent.append(message)

    request: Any = {"type": "http", "method": "GET", "path": path, **scope}
    asyncio.run(facts.Facts(app)(request, keep, keep))
    return sent[0]["status"], sent[1]["body"]


def test_it_reports_the_bytes_of_the_tensors_and_the_config(folder: Path) -> None:
    """Without private keys and long texts, and without the file's header."""
    facts.leave(case(model(folder, "target"), model(folder, "draft", 32)))
    status, body = asked()
    told = json.loads(body)
    config = {"hidden_size": 8, "text_config": {"b": 1}}
    assert status == 200
    assert told == {
        "models": {"target": {"bytes": 64, "config": config}, "draft": {"bytes": 32, "config": config}},
        "device": 1000,
    }


def test_it_reports_how_much_is_taken(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The most that a container took, or the smallest device's use now; an unreadable device gives no number."""
    peaks = (folder / "no-such", folder / "peak")
    peaks[1].write_text("700\n")
    assert device.most_taken(peaks) == 700
    assert device.most_taken(peaks[:1]) is None
    monkeypatch.setattr(device, "most_taken", lambda: 700)
    monkeypatch.setattr(device, "nvidia", lambda: device.FreeMemory(where="NVIDIA device 0", total=1000, free=300))
    for accelerator, used in (("cpu", 700), ("nvidia", 700), ("ascend", None)):
        facts.path().write_text(json.dumps({"accelerator": accelerator}))
        assert json.loads(asked()[1]).get("used") == used


def test_all_else_is_passed_on(folder: Path) -> None:
    """These are other paths, other verbs, and a scope that is not a request."""
    facts.leave(case(model(folder, "target")))
    for scope in ({"path": "/metrics"}, {"method": "POST"}, {"type": "websocket"}):
        assert asked(**scope) == (204, b"vLLM")  # type: ignore[arg-type]


def test_the_dial_is_a_page_beside_the_facts() -> None:
    """Without its folder it shows that, and the server answers as before."""
    status, body = asked("/specdec/dial")
    assert status == 200
    assert json.loads(body) == {"offered": False, "why": "no dial: /etc/specdec/dial is not mounted"}
    assert asked("/specdec/dial", method="POST") == (204, b"vLLM")


def test_what_an_earlier_start_left_is_not_reported(folder: Path) -> None:
    """The folder outlives a container; a model by its hub id has no folder to look into."""
    facts.leave(case(model(folder, "target")))
    facts.leave(preflight.gather(read(["--model=org/model"])))
    assert asked() == (200, b"{}")
    (folder / "target" / tensors.FILE).unlink()
    facts.leave(case(folder / "target"))
    assert json.loads(asked()[1])["models"] == {}


def test_a_folder_that_cannot_be_written_costs_the_facts_alone(
    folder: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facts, "path", lambda: folder / "gone" / "facts.json")
    facts.leave(case(model(folder, "target")))
    assert "the operator plans without it" in capfd.readouterr().out
    assert asked() == (200, b"{}")


def test_it_reports_the_engine(folder: Path) -> None:
    """The operator plans the flags of the next pods with it."""
    around = surroundings.Surroundings(found="vllm 0.15.1")
    facts.leave(preflight.gather(Flags(args={"model": str(model(folder, "target"))}, speculation=None), around))
    assert json.loads(asked()[1])["engine"] == "vllm 0.15.1"
