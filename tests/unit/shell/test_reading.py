"""Which command starts the engine, with which arguments and variables, and what only a shell knows."""

from typing import Any

import pytest

from specdec_operator.shell.grammar import parse
from specdec_operator.shell.programs import Kind
from specdec_operator.shell.reading import Reading, read_container, read_line


def read(script: str, **env: str | None) -> Reading:
    """What a container starts by a script."""
    named = [{"name": name, **({} if value is None else {"value": value})} for name, value in env.items()]
    return read_container({"command": ["bash", "-c"], "args": [script], "env": named})


def values(reading: Reading) -> list[str | None]:
    return [each.value for each in reading.words]


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("# don't\nvllm serve m --a 1", ["m", "--a", "1"]),
        ("vllm serve m # --b", ["m"]),
        ("vllm serve m \\\n  --a 'b c' \\\n# --d\n", ["m", "--a", "b c"]),
        ("vllm serve m --a 1\npython3 report.py --a 2", ["m", "--a", "1"]),
        ('X=5; Y="a $X"; vllm serve m --a $X --b "$Y" $Y', ["m", "--a", "5", "--b", "a 5", "a", "5"]),
        ("A=(--a 'b c')\nA+=(d)\nvllm serve m \"${A[@]}\"", ["m", "--a", "b c", "d"]),
        ("A=''\nA=\"$A --x 1\"\nvllm serve m $A", ["m", "--x", "1"]),
        ("X=1 Y=2\nvllm serve m $X", ["m", "1"]),
        ("X=0\nX=1 vllm serve m $X", ["m", "0"]),
        ("vllm serve m --a ${X:-4096}", ["m", "--a", "4096"]),
        ('set -- --a b\nexec vllm serve m "$@"', ["m", "--a", "b"]),
        ('main() { vllm serve "$1" --a; }; main m', ["m", "--a"]),
        ("cat <<E >/tmp/x\nvllm serve wrong\nE\nvllm serve m", ["m"]),
        ("pip install x && M=m; vllm serve $M", ["m"]),
        ('if [ -z "${K:-}" ]; then K=5; fi; vllm serve m $K', ["m", "5"]),
        ("eval 'vllm serve m'", ["m"]),
        ("exec vllm serve m; vllm serve never", ["m"]),
        ("exec bash -c 'exec vllm serve m'", ["m"]),
        ("vllm serve m --j {\\\"a\\\":1} $'t\\tt' --e=", ["m", "--j", '{"a":1}', "t\tt", "--e="]),
        ("vllm serve m >/log --a 2>&1", ["m", "--a"]),
        ("nohup env -u A B=c timeout -k 5 60 nice -n 5 vllm serve m", ["m"]),
        ("python3 -u -m vllm.entrypoints.openai.api_server --a", ["--a"]),
        ("python -m huggingfaceserver --a", ["--a"]),
        ("docker run --gpus all -e A=b vllm/vllm-openai:v1 m --a", ["m", "--a"]),
    ],
)
def test_the_engines_arguments_are_those_that_bash_gives_it(script: str, words: list[str]) -> None:
    """All of them are certain."""
    reading = read(script)
    assert reading.doubt == ""
    assert values(reading) == words


@pytest.mark.parametrize(
    ("script", "unknown"),
    [
        ("vllm serve m $X", "$X"),
        ("vllm serve m $(cat x)", "$(cat x)"),
        ("vllm serve m `cat x`", "`cat x`"),
        ("vllm serve m $((1 + 1))", "$((1 + 1))"),
        ("X=1; if [ -f y ]; then X=2; fi; vllm serve m $X", "$X"),
        ("for X in 1 2; do vllm serve m $X; done", "$X"),
        ("while read X; do vllm serve m $X; done", "$X"),
        ("X=1; read X; vllm serve m $X", "$X"),
        ("vllm serve m *.bin", "*.bin"),
        ("vllm serve m {a,b}", "{a,b}"),
        ("vllm serve m ~/x", "~/x"),
        ("vllm serve m ${X%a}", "${X%a}"),
        ("X='*'; vllm serve m $X", "$X"),
        ("(X=1); vllm serve m $X", "$X"),
        ("A[1]=x; vllm serve m $A", "$A"),
    ],
)
def test_what_only_a_shell_knows_has_no_value(script: str, unknown: str) -> None:
    """The word is there, with the reason."""
    word = read(script).words[-1]
    assert (word.text, word.value) == (unknown, None)
    assert word.why


@pytest.mark.parametrize(
    ("script", "doubt"),
    [
        ("if x; then vllm serve a; else vllm serve b; fi", "several commands start an engine (lines 1, 1)"),
        ("vllm serve a &\nvllm serve b", "(lines 1, 2)"),
        ("/opt/start.sh", "no command starts an engine"),
        ("bash /opt/start.sh", "the script /opt/start.sh is a file"),
        ('eval "$X"', "is known to a shell only"),
        ("true\nvllm serve 'a", "line 2"),
        ("vllm serve a\r\n", "line 1: it has the character '\\r'"),
        ("mystery vllm serve a", "mystery is not a program that is known here"),
        ("$VLLM serve a", "the program $VLLM"),
        ("f() { vllm serve a; }; f; f", "function f is called more than once"),
        ("A='x x'; " + "A=$A$A; " * 30 + "vllm serve $A", "too long to follow"),
        ("echo vllm serve a", "no command starts an engine"),
        ("{ " * 70 + "vllm serve a" + ";}" * 70, "nests more than 60 levels"),
    ],
)
def test_an_engine_that_is_not_certain_is_in_doubt(script: str, doubt: str) -> None:
    assert doubt in read(script).doubt


def test_the_engine_gets_what_is_exported() -> None:
    """What the script keeps for itself is not. What a branch may set is not certain."""
    lines = ("a=1", "export B=$a C", "D=2 E=3 I=4", "export D", "if x; then export F=4; fi", "G=$(x)", "export G")
    script = "\n".join([*lines, "H=5 vllm serve m"])
    found = {name: (each.value, each.exported) for name, each in read(script, E="0", G=None).env}
    assert found == {
        "B": ("1", True),
        "D": ("2", True),
        "E": ("3", True),
        "F": (None, None),
        "G": (None, True),
        "H": ("5", True),
    }


def test_kubernetes_puts_variables_in_before_the_shell_reads() -> None:
    """Names that the container does not have stay commands; values that a shell would read are not certain."""
    reading = read("vllm serve $(M) '$(M)' $(N) $(O) \"$(P)\"", M="m", N="a;b", P=None)
    assert values(reading) == ["m", "m", None, None, None]
    plain: dict[str, Any] = {"args": ["--model=$(M)", "$$(M)", "$(Q)"], "env": [{"name": "M", "value": "m"}]}
    assert values(read_container(plain)) == ["--model=m", "$(M)", "$(Q)"]


def test_other_commands_are_listed() -> None:
    reading = read("pip install x\nvllm serve m 2>&1 | tee log\necho done")
    assert (reading.before, reading.after) == (("pip install x",), ("| tee log", "echo done"))


@pytest.mark.parametrize(
    ("words", "kind", "left"),
    [
        (["--model", "m"], Kind.IMAGE, ["--model", "m"]),
        (["org/m", "--a"], Kind.IMAGE, ["org/m", "--a"]),
        (["vllm serve m --a 'b c'"], Kind.VLLM, ["m", "--a", "b c"]),
        (["bash", "-lc", "vllm serve m"], Kind.VLLM, ["m"]),
        (["A=b vllm serve m"], Kind.VLLM, ["m"]),
        (["docker", "run", "-it", "-p8:8", "vllm/vllm-openai", "--model", "m"], Kind.CONTAINER, ["--model", "m"]),
        (["docker", "run", "--entrypoint", "vllm", "vllm/x", "serve", "m"], Kind.VLLM, ["m"]),
        (["podman", "run", "vllm/x", "bash", "-c", "vllm serve m"], Kind.VLLM, ["m"]),
    ],
)
def test_a_typed_line_is_read_as_what_it_is(words: list[str], kind: Kind, left: list[str]) -> None:
    reading = read_line(words)
    assert reading.engine is not None
    assert reading.engine.start.kind is kind
    assert values(reading) == left


def test_docker_s_options_are_kept_apart() -> None:
    """Variables are the engine's; the rest is of the container."""
    reading = read_line(
        ["docker", "run", "--rm", "--gpus", "all", "-e", "A=b", "--env=C=d", "-v", "/x:/y", "vllm/vllm-openai", "m"]
    )
    assert [(name, each.value) for name, each in reading.env] == [("A", "b"), ("C", "d")]
    assert reading.engine is not None
    assert reading.engine.start.beside == ("--gpus all", "-v /x:/y")


def test_a_word_stands_where_its_bytes_are() -> None:
    """In bytes, not in characters, also in a script inside a script."""
    script = "echo é; bash -c 'vllm serve é --a \"b\"'"
    for word in read(script).words:
        assert word.span is not None
        assert script.encode()[word.span.start : word.span.end].decode() == word.text


def test_the_work_grows_with_the_length_and_ends() -> None:
    """Nodes of the tree for a script of so many flags; a longer one, and one of operators alone, are refused unread."""
    sizes = [parse("vllm serve m " + "-sc=x " * count).root.descendant_count for count in (1_000, 2_000, 4_000)]
    assert sizes[2] - sizes[1] == 2 * (sizes[1] - sizes[0])
    assert parse("vllm serve m " + "-sc=x " * 150_000).unreadable
    for unit in ("a|", "A=(", "f()", "${A%", "<", ";;a\n", "case a in (b|"):
        assert parse(unit * (65_536 // len(unit))).unreadable
