"""lab.trial: what an image is asked where no device is, and what stands in for a device."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hack.images import build, content

from lab.trial import models, questions, report
from lab.verdicts import pretend, samples, standin
from specdec_runtime import preflight
from specdec_runtime.preflight.command import flags_of


@pytest.mark.parametrize("kind", report.KINDS)
def test_the_models_of_every_sample_have_a_configuration(kind: str) -> None:
    """The harness would ask for a model without one, and the engine would refuse it for that."""
    known = json.loads(samples.KINDS.read_text())
    named = {each[role] for each in samples.cases(kind) for role in ("target", "draft")} - {None}
    assert len(named) > 3
    assert named <= known.keys()


def test_a_row_has_what_the_engine_settled_on_or_why_it_did_not() -> None:
    settled = {"ok": True, "resolved": {"method": "mtp", "num_speculative_tokens": 1, "engine": {}}}
    assert questions.sample("sample-a", settled, "") == {"name": "a", "ok": True, "method": "mtp", "tokens": 1}
    assert questions.sample("sample-a", {"ok": False, "error": "no\n way"}, "")["error"] == "no way"
    assert questions.sample("sample-a", None, "killed") == {"name": "a", "ok": False, "error": "killed"}


def test_an_image_that_is_asked_again_keeps_what_its_build_took(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "FOLDER", tmp_path)
    built = {"seconds": 5, "size": "1 GB", "given": {}}
    (tmp_path / "nvidia.json").write_text(json.dumps({"image": "r:1", "built": {**built, "parts": {}}}))
    assert report._before("nvidia", "localhost/r:1") == built
    assert report._before("nvidia", "localhost/r:2") == {}
    assert report._before("ascend", "localhost/r:1") == {}


def test_nothing_stands_against_the_tiny_model(tmp_path: Path) -> None:
    """So that what refuses a start with it is the device that is missing."""
    models.write_tiny(tmp_path / "tiny")
    assert preflight.inspect(flags_of(tmp_path / "tiny", None, None, None, None)) == ()


def test_stand_ins_have_the_names_that_are_missing_and_no_others() -> None:
    """nm lists what a library takes from others: CUDA's driver among PyTorch's and the C library's."""
    lines = [
        "         U cuInit",
        "         U cudaMalloc@libcudart.so.13",
        "         w __gmon_start__",
        "",
        "  U curandX",
    ]
    assert standin.wanted(lines, standin.MISSING["cuda"]) == {"cuInit"}
    lines = ["  U aclrtSetDevice", "  U HcclAllReduce", "  U aten_add", "  U aclrtGetSocName"]
    assert standin.wanted(lines, standin.MISSING["cann"]) == {"aclrtSetDevice", "HcclAllReduce", "aclrtGetSocName"}


def test_stand_ins_fail_unless_loading_would_end_with_them(tmp_path: Path) -> None:
    """Compiled and called: an answer that is taken for a device's would hide that there is none."""
    names = {"aclrtSetDevice", "HcclAllReduce", "aclrtGetSocName"}
    (tmp_path / "a.c").write_text(standin.source(names, standin.MISSING["cann"]))
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", tmp_path / "a.so", tmp_path / "a.c"], check=True)
    ask = (
        "import ctypes, sys; a = ctypes.CDLL(sys.argv[1]); a.aclrtGetSocName.restype = ctypes.c_char_p;"
        "print(a.aclrtSetDevice(), a.HcclAllReduce(), a.aclrtGetSocName().decode())"
    )
    done = subprocess.run([sys.executable, "-c", ask, tmp_path / "a.so"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "507899", "Ascend910B1"]


def test_the_pretended_gpu_answers_what_an_h100_would() -> None:
    """vLLM asks in three ways for a capability: the value, a pair, two digits."""

    class Base:
        @classmethod
        def device_count(cls) -> int:
            raise AssertionError("a driver is asked")

    made: Any = pretend.hopper(Base, (9, 0))()
    assert made.device_count() == pretend.DEVICES
    assert made.get_device_capability() == (9, 0)
    assert [made.has_device_capability(each) for each in (80, 90, 100, (9, 0), (10, 0))] == [
        True,
        True,
        False,
        True,
        False,
    ]


def image(tmp_path: Path, script: str) -> questions.TrialImage:
    """An "image" whose commands this machine runs: words are passed to a script in place of a container."""
    return questions.TrialImage(run=(sys.executable, "-c", script), folder=tmp_path)


def test_what_failed_is_shown_by_its_error_and_not_by_the_last_line(tmp_path: Path) -> None:
    script = "print('RuntimeError: no device\\nsee above\\nError: exit status 1'); raise SystemExit(1)"
    found = image(tmp_path, script).ask(("serve",), {})
    assert (found["code"], found["words"]) == (1, "RuntimeError: no device")


def test_the_refusal_is_read_from_the_termination_log(tmp_path: Path) -> None:
    """What an earlier question left there is not taken for it."""
    (tmp_path / questions._LAST_WORDS).write_text('{"reason": "of before"}')
    found = questions._answer(image(tmp_path, "raise SystemExit(1)"), "serve", ("serve",), {})
    assert "refusal" not in found
    script = f"open({str(tmp_path / questions._LAST_WORDS)!r}, 'w').write('{{\"reason\": \"R\"}}'); raise SystemExit(1)"
    found = questions._answer(image(tmp_path, script), "serve", ("serve",), {})
    assert (found["code"], found["refusal"]) == (1, {"reason": "R"})


@pytest.mark.parametrize(("name", "code", "hoped"), [("serve", 1, True), ("serve", 0, False), ("plugins", 0, True)])
def test_a_start_without_a_device_is_to_fail_and_all_else_is_not(name: str, code: int, hoped: bool) -> None:
    assert questions._as_hoped(name, {"code": code}) is hoped


def test_ascend_stands_on_debian_only_where_the_vendors_base_cannot_be_had() -> None:
    assert report.arguments("nvidia", {"KERNELS": "9.0", "ASCEND_INDEX": "x"}, lambda _: False) == {"KERNELS": "9.0"}
    assert report.arguments("ascend", {}, lambda _: True) == {"ASCEND_INDEX": "none"}
    without = report.arguments("ascend", {}, lambda _: False)
    assert without == {"ASCEND_INDEX": "none", "ASCEND_BASE_IMAGE": build.LOCAL}
    named = report.arguments(
        "ascend", {"ASCEND_BASE_IMAGE": "mirror/cann", "ASCEND_INDEX": "i"}, lambda ref: ref == "mirror/cann"
    )
    assert named == {"ASCEND_BASE_IMAGE": "mirror/cann", "ASCEND_INDEX": "i"}


def test_what_is_on_the_page_is_of_every_sample_there_is() -> None:
    """A sample that was added since has not been asked: build the image again, or it is not on the page."""
    for path in report.FOLDER.glob("*.json"):
        found, kind = json.loads(path.read_text()), path.stem
        asked = {each["id"].removeprefix(samples.PREFIX) for each in samples.cases(kind)}
        assert {each["name"] for each in found["samples"]} == asked
        assert {each["question"] for each in found["questions"]} == set(questions.QUESTIONS)
        assert str(content.ROOT) not in json.dumps(found)


def test_a_trial_that_was_not_made_is_not_on_the_page(tmp_path: Path) -> None:
    """With marks in the page and no file the page has no report. Without marks the error has the fix."""
    marks = "<!-- trial: generated by make generate -->\n<!-- /trial -->"
    assert report.page(f"a\n{marks}\nb", tmp_path).split() == ["a", *marks.split(), "b"]
    with pytest.raises(ValueError, match="marks"):
        report.page("a", tmp_path)
