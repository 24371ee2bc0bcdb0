"""What the pages show for users to type: commands, variables and reasons that exist, and samples that are valid."""

import functools
import pathlib
import re
import subprocess
import sys
from typing import Any

import typer.main
import yaml
from hack.docs.markdown import blocks
from tests.unit.docs.doc_pages import PAGES, ROOT, read

from specdec_command.advice.catalogue import METHODS, release_for
from specdec_command.cli.commands import application
from specdec_engine.version import Flavor
from specdec_operator.api.spec import Spec
from specdec_operator.guard.verdict import Reason
from specdec_operator.settings import VARIABLES

_BY_OTHERS = frozenset({"CrashLoopBackOff", "CreateContainerConfigError"})
"""Reasons that Kubernetes itself gives."""
_VALIDATE = (sys.executable, "-m", "specdec_command.cli.main", "validate")


def commands(page: str) -> list[list[str]]:
    """Every command of specdec that a page shows: its arguments after `specdec`, up to a comment or a pipe."""
    found = re.findall(r"(?:^|[|&] *|\$ )(?:kubectl )?specdec ((?:[a-z]+|--)[^\n|#&<>]*)", _code(page), re.MULTILINE)
    return [each.split() for each in found]


@functools.cache
def _of_validate() -> frozenset[str]:
    done = subprocess.run([*_VALIDATE, "--help"], capture_output=True, text=True, check=True)
    return frozenset(re.findall(r"--[a-z]+", done.stdout))


def test_commands_of_specdec_and_their_options_exist() -> None:
    """A reader may copy each of them."""
    group = typer.main.get_command(application())
    known = group.commands  # type: ignore[attr-defined]
    general = {option for each in group.params for option in each.opts}
    for page, (name, *words) in ((each, command) for each in PAGES for command in commands(each)):
        if name in general:
            continue
        assert name in known, f"{page}: specdec {name}"
        options = {option for each in known[name].params for option in each.opts} | {"--help"}
        options |= _of_validate() if name == "validate" else set()
        if name != "import":  # what follows its -- are flags of vLLM
            asked = {word.partition("=")[0].rstrip(",;:") for word in words if re.match(r"--?[a-z]", word)}
            assert asked <= options, f"{page}: specdec {name}"


def _code(page: str) -> str:
    """The blocks and the inline code of a page."""
    return "\n".join([text for _, text in blocks(read(page))] + re.findall(r"`([^`\n]+)`", read(page)))


def test_targets_of_make_exist() -> None:
    """Only if a line or inline code begins with `make`: outputs contain the word "make", too."""
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))
    for page in PAGES:
        named = set(re.findall(r"(?:^|[$] |[$]\()make (?:-s )?([a-z-]+)", _code(page), re.MULTILINE))
        assert named <= targets, page


def test_files_that_code_names_exist() -> None:
    """Folders and files of the repository, from its root, in blocks and words of code."""
    named = re.compile(
        r"(?<![\w./~$-])((?:charts|crds|docs|hack|manifests|operator|runtime|tests)/[\w./-]*\w/?)(?![\w./*<-])"
    )
    gone = [(page, path) for page in PAGES for path in named.findall(_code(page)) if not (ROOT / path).exists()]
    assert gone == []


def test_values_that_are_set_are_values_of_the_chart() -> None:
    """`--set a.b=c` and `a.b` of values.yaml are the same words."""
    values = yaml.safe_load((ROOT / "charts" / "specdec-operator" / "values.yaml").read_text(encoding="utf-8"))
    asked = re.compile(r"--set(?:-string)?[ =]([\w.]+)=")
    for page, keys in ((each, keys) for each in PAGES for keys in asked.findall(read(each))):
        found = values
        for key in keys.split("."):
            assert key in found, f"{page}: {keys}"
            found = found[key]


def _samples() -> list[tuple[str, str]]:
    """Every YAML block, by page and number, that holds a sis or a part of its spec."""
    found = []
    for page in PAGES:
        for number, (language, text) in enumerate(blocks(read(page))):
            if language == "yaml" and "…" not in text and (sis := _sis(yaml.safe_load(text))):
                found.append((f"{page} {number}", yaml.safe_dump(sis)))
    return found


def _sis(text: Any) -> dict[str, Any] | None:
    """The sis of a block: itself, or a part of a spec with the fields that it lacks. None if the block has no sis."""
    if not isinstance(text, dict):
        return None
    if text.get("kind") == "SpeculativeInferenceService":
        return text
    spec = text["spec"] if text.keys() == {"spec"} else text
    fields = {field.alias or name for name, field in Spec.model_fields.items()}
    if not spec or not spec.keys() <= fields:
        return None
    around: dict[str, Any] = {"model": {"uri": "pvc://models/target"}}
    if until := _last_engine(spec.get("speculation", {}).get("method")):
        around["engine"] = {"version": f"{until}.0"}
    if "guard" in spec:
        around["speculation"] = {"method": "draft_model", "tokens": 4, "draft": {"uri": "pvc://models/draft"}}
    return {
        "apiVersion": "serving.specdec.io/v1alpha1",
        "kind": "SpeculativeInferenceService",
        "metadata": {"name": "sample"},
        "spec": around | spec,
    }


def _last_engine(method: str | None) -> str:
    """The last vLLM with a method that newer ones do not have; empty where they have it."""
    advice = METHODS.get(method or "")
    release = release_for(advice, Flavor.VLLM) if advice else None
    return release.until if release else ""


def test_samples_are_let_through(tmp_path: pathlib.Path) -> None:
    """What a page shows as YAML of a sis, whole or in part, is not refused."""
    files = []
    for where, sample in _samples():
        files.append(tmp_path / f"{where.replace('/', '_')}.yaml")
        files[-1].write_text(sample, encoding="utf-8")
    assert len(files) > 15
    done = subprocess.run([*_VALIDATE, *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_mistake_of_the_tour_has_the_shown_output() -> None:
    """The output in docs/tour.md is the command's output for the README's sample."""
    block = next(text for _, text in blocks(read("docs/tour.md")) if text.startswith("$ sed"))
    command, _, shown = block.partition("\n")
    before, after = re.findall(r"s/([^/]+)/([^/]+)/", command)[0]
    (sample,) = [text for language, text in blocks(read("README.md")) if language == "yaml"]
    done = subprocess.run(
        [*_VALIDATE, "-"], input=sample.replace(before, after), capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stdout == shown


def test_the_settings_of_the_operator_are_those_of_the_page() -> None:
    """docs/operations.md has a row for each variable that is read, and no other."""
    told = set(re.findall(r"`(SPECDEC_[A-Z_]+)`", read("docs/operations.md")))
    assert told == set(VARIABLES)


def test_reasons_of_the_troubleshooting_page_exist() -> None:
    """The operator or the runtime can report each of them."""
    told = set(re.findall(r"`([A-Z][a-z]+[A-Z][A-Za-z]+)`", "\n".join(_symptoms())))
    source = "\n".join(
        path.read_text(encoding="utf-8") for root in ("operator", "runtime") for path in (ROOT / root).rglob("*.py")
    )
    assert not {reason for reason in told - _BY_OTHERS if not re.search(rf"\"{reason}\"", source)}


def test_every_verdict_except_a_pass_is_on_the_troubleshooting_page() -> None:
    """A user who reads a reason finds it there."""
    page = read("docs/troubleshooting.md")
    assert not [
        reason for reason in Reason if reason not in (Reason.ACCEPTED, Reason.PLAIN) and f"`{reason}`" not in page
    ]


def _symptoms() -> list[str]:
    return re.findall(r"^- ([^:]+):", read("docs/troubleshooting.md"), re.MULTILINE)
