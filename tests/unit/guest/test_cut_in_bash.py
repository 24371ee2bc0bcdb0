"""What a real bash gives to a fake engine, before and after the flags of speculation are removed from a script."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specdec_operator.guest.cut import Cut, NoCut, cut
from specdec_operator.guest.patch import TakenOut, bring_back, place_of, take_out

EXAMPLES = int(os.environ.get("SPECDEC_SCRIPTS", "120"))
"""Scripts that the generator makes."""
CONFIG = '{"method":"ngram","num_speculative_tokens":4}'
FAKE = """#!/bin/sh
# A fake engine: it notes its arguments, each behind a separator that no script has.
{ for each in "$0" "$@"; do printf '%s\\037' "$each"; done; printf '\\036'; } >> "$FAKE_LOG"
"""
CUT = {
    "semicolon": f"vllm serve m --speculative-config '{CONFIG}'; echo ended $?",
    "semicolon and equals": f"vllm serve m --speculative-config='{CONFIG}'; echo ended",
    "and": f"vllm serve m --speculative-config '{CONFIG}'&& echo ok",
    "subshell": f"(cd /tmp && exec vllm serve m --speculative-config '{CONFIG}')",
    "braces": "{ vllm serve m --speculative-config x;}",
    "pipe": f"vllm serve m --speculative-config '{CONFIG}'|cat",
    "redirection": f"vllm serve m --speculative-config '{CONFIG}'>/dev/null 2>&1",
    "redirection behind a number": f"vllm serve m 2 -sc '{CONFIG}'>/dev/null",
    "background": f"vllm serve m --speculative-config '{CONFIG}'& wait",
    "lines that go on": f"exec vllm serve m \\\n  --speculative-config '{CONFIG}' \\\n  --port 8080",
    "last line": f"exec vllm serve m \\\n  --port 8080 \\\n  --speculative-config '{CONFIG}'",
    "last line with an end": f"exec vllm serve m \\\n  --port 8080 \\\n  --speculative-config '{CONFIG}'\n",
    "next line": f"vllm serve m --speculative-config '{CONFIG}'\necho done",
    "quoted variable": 'exec vllm serve m --speculative-config "$SPEC" --port 8080',
    "here-document": f"cat > /dev/null <<EOF\nit's --speculative-config\nEOF\nvllm serve m -sc '{CONFIG}'",
    "comment with an apostrophe": f"# don't touch\nvllm serve m --speculative-config '{CONFIG}' --port 8080",
    "comment with the flag": f"vllm serve m -sc '{CONFIG}' --port 1 # -sc '{CONFIG}'",
    "other command": f"echo --speculative-config; exec vllm serve m --speculative-config '{CONFIG}'",
    "three flags": "exec vllm serve m --spec-method ngram --spec-tokens 4 --port 8080",
    "variable before": f"VLLM=1 exec vllm serve m -sc '{CONFIG}' --port 8080",
    "ANSI quotes": 'exec vllm serve m --speculative-config $\'{"method":"ngram"}\' --port 8080',
    "loop": f"for i in 1 2; do vllm serve m --speculative-config '{CONFIG}' || sleep 1; done",
    "end of a loop": f"while ! test -s \"$FAKE_LOG\"; do vllm serve m --speculative-config='{CONFIG}'; done",
    "escaped blank": f"vllm serve m\\  -sc '{CONFIG}' --port 1",
    "here-string": f"vllm serve m --speculative-config '{CONFIG}' <<<x --port 1",
    "words behind a redirection": f"vllm serve m >/dev/null -sc '{CONFIG}' --port 1",
    "special tokens": f"cd /tmp && vllm serve m --stop '<|im_end|>' -sc '{CONFIG}' && echo '<>'",
    "function": f"main() {{ vllm serve \"$@\" -sc '{CONFIG}'; }}\nmain m --port 1",
    "script in a script": 'exec bash -c "vllm serve m -sc x --port 1"',
    "old flags": "vllm serve m --speculative-model d --num-speculative-tokens 5 --speculative-disable-mqa-scorer",
    "shortened": f"vllm serve m --speculative-conf '{CONFIG}' --port 1",
    "shortened, each": "vllm serve m --spec-me ngram --spec-tok=4 --spec_mo d --specu x --port 1",
    "dotted": "vllm serve m --speculative-config.method=ngram --speculative_config.num_speculative_tokens 4 --port 1",
}
KEPT = {
    "array": f"ARGS=( --port 8080 --speculative-config '{CONFIG}' )\nexec vllm serve m \"${{ARGS[@]}}\"",
    "default": "exec vllm serve m --speculative-config ${SPEC:-x y} --port 8080",
    "command": "exec vllm serve m --speculative-config $(cat /etc/spec.json) --port 8080",
    "quoted command": 'exec vllm serve m --speculative-config "$(cat /etc/spec.json)" --port 8080',
    "branches": f"if [ -n \"$S\" ]; then vllm serve m --speculative-config '{CONFIG}'; else vllm serve m; fi",
    "one branch": f"if [ -n \"$S\" ]; then vllm serve m --speculative-config '{CONFIG}'; fi",
    "variable with the flag": f"S=--speculative-config='{CONFIG}'; vllm serve m $S",
    "flag in a branch": 'A=\'\'\n[ -n "$SPEC" ] && A="--speculative-config $SPEC"\nexec vllm serve m $A',
    "appended": "A='--port 1'\nA=\"$A -sc x\"\nexec vllm serve m $A",
    "braces of a shell": "vllm serve m -sc {method:ngram,k:4} --port 1",
    "glued lines": f"vllm serve m\\\n-sc\\\n '{CONFIG}'",
    "carriage returns": f"vllm serve m -sc '{CONFIG}'\r\n",
    "an open quote": "vllm serve m -sc 'x --port 1",
    "called twice": f"f() {{ vllm serve m -sc '{CONFIG}'; }}\nf; f",
    "program that may pass flags on": f"cd /app && ./start.sh --port 1 -sc '{CONFIG}'",
    "unknown program": f"mystery vllm serve m -sc '{CONFIG}'",
    "script in an unknown quote": 'X=1; bash -c "vllm serve m$X -sc x"',
}


def container(script: str) -> dict[str, object]:
    return {"name": "kserve-container", "image": "vllm", "command": ["bash", "-c"], "args": [script]}


def run_in_bash(script: str, place: Path) -> tuple[list[list[str]], str, int]:
    """The arguments of each start of the fake engine, what the script printed, and its exit code."""
    log, programs = place / "log", place / "bin"
    programs.mkdir(exist_ok=True)
    for name in ("vllm", "python3"):
        (programs / name).write_text(FAKE)
        (programs / name).chmod(0o755)
    log.write_text("")
    env = {"PATH": f"{programs}:/usr/bin:/bin", "FAKE_LOG": str(log)}
    done = subprocess.run(
        ["bash", "-c", script], env=env, cwd=place, capture_output=True, text=True, timeout=20, check=False
    )
    starts = [each.split("\037")[:-1] for each in log.read_text().split("\036")[:-1]]
    return starts, done.stdout, done.returncode


def without_speculation(words: list[str]) -> list[str]:
    """What the engine is to get: written again, so that the code under test does not judge itself."""
    kept, rest = [], list(words)
    while rest:
        word = rest.pop(0)
        name = word.partition("=")[0]
        if name == "--speculative-disable-mqa-scorer":
            continue
        if name.startswith(("--spec", "--num-speculative", "--ngram-prompt")) or name == "-sc":
            if "=" not in word and rest and not rest[0].startswith("-"):
                rest.pop(0)
            continue
        kept.append(word)
    return kept


def check(script: str, place: Path) -> bool:
    """Whether the script is cut. If it is, bash must run it as before, without the flags."""
    found = cut(container(script))
    if not isinstance(found, Cut):
        return False
    starts, printed, code = run_in_bash(script, place)
    left, printed_then, code_then = run_in_bash(found.baseline[0], place)
    assert left == [without_speculation(each) for each in starts], found.baseline[0]
    assert (printed_then, code_then) == (printed, code), found.baseline[0]
    return True


@pytest.mark.parametrize("name", CUT)
def test_the_engine_gets_everything_but_the_flags(name: str, tmp_path: Path) -> None:
    """Scripts as people write them, with operators at the flag."""
    assert check(CUT[name], tmp_path), cut(container(CUT[name]))


@pytest.mark.parametrize("name", KEPT)
def test_what_cannot_be_removed_alone_is_refused(name: str) -> None:
    """The script asks for speculation, and the reason has a line or the number of starts."""
    found = cut(container(KEPT[name]))
    assert isinstance(found, NoCut)
    assert "line" in found.why


@pytest.mark.parametrize("name", CUT)
def test_the_original_comes_back_byte_for_byte(name: str) -> None:
    """By the record in the annotation."""
    live = {
        "metadata": {"name": "x", "resourceVersion": "1", "annotations": {"specdec.io/enforce": "true"}},
        "spec": {"predictor": {"containers": [container(CUT[name])]}},
    }
    place = place_of(live)
    assert place is not None
    record = TakenOut(service="s", uid="u", path=place.path, value=place.value, words=[], revision="r")
    assert [each["op"] for each in take_out(live, place, record)] == ["test", "replace", "add"]
    live["spec"] = {"predictor": {"containers": [{**container(CUT[name]), "args": place.baseline}]}}
    back = bring_back(live, record)
    assert back is not None
    assert back[1]["value"] == [CUT[name]]


WORDS = st.sampled_from(
    [
        *("--port 8080", "--port=1", "--max-model-len 4096", "'a b'", '"c d"', "e\\ f", "$HOME", '"$HOME"', "''"),
        *(
            "--stop '<|im_end|>'",
            "a#b",
            "'#'",
            "--x='it'\"'\"'s'",
            "1",
            "2",
            '"a\\"b"',
            "$'t\\tt'",
            "--y={}",
            "=",
            "~x",
        ),
        *("--served-model-name a b", '"${NOTHING:-d}"', "${NOTHING:-e f}", "$((1 + 2))", '"$(echo sub)"', "é", "[1]"),
    ]
)
SPECULATION = st.sampled_from(
    [
        *(f"--speculative-config '{CONFIG}'", f"--speculative-config='{CONFIG}'", f"-sc '{CONFIG}'", "-sc=x"),
        *(f"'--speculative-config={CONFIG}'", '--speculative-config "{\\"method\\": \\"ngram\\"}"', "-sc x", '"-sc" x'),
        *("--spec-method ngram", "--spec-tokens=4", "--num-speculative-tokens 5", "--speculative-config.method=ngram"),
        *(
            '--speculative-config {\\"k\\":1}',
            "--speculative-config \\\n  'x'",
            '--speculative-config="a\nb"',
            "-sc $X",
        ),
        *(f"--speculative-conf '{CONFIG}'", "--specu=x", "--spec-tok 4", "--spec_me=ngram", "'--spec-mo' d"),
        *('-sc "$X"', "-sc $(echo x)", "-sc {a,b}", "--spec''-method=ngram", "-s''c x", "$X-sc=y"),
    ]
)
BLANKS = st.sampled_from([" ", "  ", "\t", " \\\n", " \\\n  ", "\\\n "])
ENDS = st.sampled_from(
    [
        *(
            "",
            "\n",
            ";",
            " ;",
            "; echo ended",
            "&& echo ok",
            " && echo ok",
            "|cat",
            " | cat",
            ">/dev/null",
            " >log 2>&1",
        ),
        *(
            " 2>/dev/null",
            "2>/dev/null",
            " # -sc comment",
            " <<<'-sc x'",
            " <<EOF\n-sc x it's\nEOF\n",
            " &\nwait",
            "& wait",
        ),
        *(
            " || echo failed",
            "\necho --speculative-config next",
            " \\\n",
            "\n\n# it's\n",
            " </dev/null",
            "&>log",
            " >&2",
        ),
    ]
)
STARTS = st.sampled_from(
    [
        *("vllm serve m", "exec vllm serve m", "A=1 vllm serve m", "nohup vllm serve m", "env A=1 vllm serve m"),
        *("python3 -m vllm.entrypoints.openai.api_server --model m", '"vllm" serve m', "v\\llm serve m", "vllm serve"),
        *(">log vllm serve m", "timeout 9 vllm serve m", "command vllm serve m"),
    ]
)
AROUND = st.sampled_from(
    [
        *(
            "{}",
            "{}",
            "{}",
            "({})",
            "{{ {}\n}}",
            "if true; then {}\nfi",
            "for i in 1 2; do {}\ndone",
            "! {}",
            "time {}",
        ),
        *("f() {{ {}\n}}\nf", "f() {{ {}\n}}\nf a; f b", "case x in x) {}\n;; esac", "bash -c '{}'", "eval '{}'"),
        *(
            "cd /tmp && {}",
            "# it's -sc x\n{}",
            "set -e\nX=x\n{}",
            "export X='x y'\n{}",
            "cat <<EOF\n-sc $((1))\nEOF\n{}",
        ),
        *("ARGS=(-sc x)\n{}", '[ -n "$X" ] && {}', "true || {}", 'bash -c "{}"', "echo '<|im_end|>' && {}"),
    ]
)


@st.composite
def scripts(draw: st.DrawFn) -> str:
    """A script that starts the fake engine, in the middle of what people put around it."""
    words = draw(st.lists(st.one_of(WORDS, WORDS, SPECULATION), min_size=0, max_size=5))
    words.insert(draw(st.integers(0, len(words))), draw(SPECULATION))
    command = draw(STARTS) + "".join(draw(BLANKS) + each for each in words) + draw(ENDS)
    return draw(AROUND).format(command)


@given(script=scripts())
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_no_generated_script_loses_anything_else(script: str, tmp_path: Path) -> None:
    """It is cut, or refused. SPECDEC_SCRIPTS: how many are made."""
    check(script, tmp_path)
