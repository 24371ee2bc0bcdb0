"""Completion in real shells: bash by the script that the command prints, kubectl by the program it looks for."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[3]
COMPLETES = ROOT / "packaging" / "kubectl_complete-specdec"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """PATH with both names of the command and kubectl's completion, as an installation has them."""
    tmp_path = tmp_path_factory.mktemp("bin")
    for name in ("specdec", "kubectl-specdec"):
        program = tmp_path / name
        program.write_text(f"#!{sys.executable}\nfrom specdec_command.cli.main import main\nmain()\n")
        program.chmod(0o755)
    (tmp_path / COMPLETES.name).symlink_to(COMPLETES)
    return f"{tmp_path}{os.pathsep}{os.environ['PATH']}"


@pytest.fixture(scope="module")
def in_bash(path: str) -> str:
    return run(["specdec", "completion", "bash"], path)


def run(argv: list[str], path: str) -> str:
    """A program's output; its standard error is empty."""
    around = os.environ | {"PATH": path, "PYTHONPATH": f"{ROOT / 'operator'}{os.pathsep}{ROOT / 'runtime'}"}
    done = subprocess.run(argv, env=around, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize(
    ("name", "line", "found"),
    [
        ("specdec", "ro", {"rollback"}),
        ("specdec", "doctor --op", {"--operator-namespace"}),
        ("kubectl-specdec", "doctor --output ", {"text", "json"}),
    ],
)
def test_bash_completes_commands_options_and_choices(
    name: str, line: str, found: set[str], path: str, in_bash: str
) -> None:
    """`source <(specdec completion bash)` in a real bash, for both names."""
    words = [name, *line.split(" ")]
    script = (
        f"{in_bash}\nCOMP_WORDS=({' '.join(repr(each) for each in words)}); "
        f"COMP_CWORD={len(words) - 1}; _{name.replace('-', '_')}_completion {name}; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    assert set(run(["bash", "-c", script], path).split()) == found


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_scripts_of_other_shells_name_both_commands(shell: str, path: str) -> None:
    """They are typer's own; the shells are not on every machine."""
    script = run(["specdec", "completion", shell], path)
    assert "_SPECDEC_COMPLETE" in script
    assert "_KUBECTL_SPECDEC_COMPLETE" in script
    if shutil.which(shell):
        run([shell, "-n", "-c", script], path)


def _lines(words: list[str], path: str) -> tuple[set[str], str]:
    *found, last = run([COMPLETES.name, *words], path).splitlines()
    return {each.partition("\t")[0] for each in found}, last


@pytest.mark.parametrize(
    ("words", "found", "last"),
    [
        (["ro"], {"rollback"}, ":4"),
        (["doctor", "--op"], {"--operator-namespace"}, ":4"),
        (["doctor", "--output", ""], {"text", "json"}, ":4"),
        (["render", ""], set(), ":0"),
    ],
)
def test_kubectls_protocol_is_spoken(words: list[str], found: set[str], last: str, path: str) -> None:
    """A line for each, with its meaning after a tab; if the program has no suggestion, the shell completes files."""
    assert _lines(words, path) == (found, last)
