"""The check of prose: what it finds, what it leaves alone, and which pages are held to it."""

import pathlib
import re
import textwrap
from typing import Final

import pytest
from hack.prose import __main__ as command
from hack.prose.check import in_data, in_messages, in_notes, on_page, rules_of

ROOT: Final = pathlib.Path(__file__).parents[3]
RULES: Final = command.rules()
FIRST: Final = frozenset(
    {
        "README.md",
        *(f"docs/{name}.md" for name in ("concepts", "guard", "guests", "importing", "install", "limits", "memory")),
        *(f"docs/{name}.md" for name in ("monitoring", "operations", "staging", "start", "tour", "troubleshooting")),
        *(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs" / "runbooks").glob("*.md")),
    }
)
"""The pages that were rewritten first. The list may grow; a page that leaves it fails here."""


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ('"""It tells."""\n', [1]),
        ('x = 1\n"""Fine.\n\nIt says so.\n"""\n', [4]),
        ("x = 1  # nobody reads it\n", [1]),
        ("# noqa: nobody\nx = 1  # type: ignore[says]\n", []),
        ("def test_the_page_says_so(): ...\n", [1]),
        ("def says_so(): ...\n", []),
        ('"""The field `said`, and https://example.org/says."""\n', []),
        ('x = "it says"\n', []),
    ],
)
def test_docstrings_comments_and_names_of_tests_are_prose(source: str, lines: list[int]) -> None:
    assert [each.line for each in in_notes(source, RULES)] == lines


def test_the_list_of_pages_only_grows() -> None:
    """Every page that was rewritten is still in it, once, and exists."""
    assert set(command.held()) >= FIRST
    assert len(set(command.held())) == len(command.held())
    assert all((ROOT / path).exists() for path in command.held())


@pytest.mark.parametrize(
    "sentence",
    [
        "The pod tells its metrics.",
        "The status says why.",
        "Somebody has to act.",
        "The next rung of the ladder.",
        "A rollback is no error.",
        "Where no room is left, the pod waits.",
        "It is refused, in the cluster's own words.",
        "All but for the draft.",
        "A plain pod serves.",
        "The claim is not bound.",
        "Evidence that convicts.",
        "Simply apply the file.",
    ],
)
def test_constructions_that_are_not_written_are_found(sentence: str) -> None:
    """One of each kind, of sentences that this project once had."""
    assert on_page(f"{sentence}\n", RULES)


@pytest.mark.parametrize(
    "sentence",
    [
        "The status shows why.",
        "There is no draft.",
        "If no room is left, the pod waits.",
        "A baseline pod serves.",
        "The condition `ClaimNotBound` names the PVC.",
        "See [the page](what-it-says.md#told).",
    ],
)
def test_plain_sentences_code_and_targets_of_links_pass(sentence: str) -> None:
    """Names of the API stay as they are."""
    assert not on_page(f"{sentence}\n", RULES)


def test_blocks_comments_and_tags_are_not_looked_at() -> None:
    """What a program prints is not prose of the page."""
    text = "<!-- nobody -->\n\n```\nnobody tells\n```\n\n1. It is so:\n\n    ```\n    nobody tells\n    ```\n"
    assert not on_page(text, RULES)


def test_a_finding_has_the_line_of_the_found_text() -> None:
    """Also in the middle of a paragraph, below a block."""
    text = "# Head\n\n```\nx\n```\n\nFirst line\nsecond line, and nobody acts.\n"
    assert [(each.line, each.found) for each in on_page(text, RULES)] == [(8, "nobody")]


def test_a_sentence_that_is_too_long_is_found_and_a_row_of_a_table_is_not() -> None:
    """A row is a list of cells, not a sentence."""
    long = " ".join(["word"] * (RULES.most_words + 1))
    assert re.search(rf"a sentence of {RULES.most_words + 1} words", str(on_page(f"{long}.\n", RULES)[0]))
    assert not on_page(f"| {long} |\n", RULES)
    assert not on_page(f"{long.partition(' ')[2]}.\n", RULES)


def test_messages_of_code_are_looked_at_and_docstrings_are_not() -> None:
    """A user meets the one, and a developer the other."""
    source = '''
        """Nobody."""
        def refuse() -> str:
            """Nobody."""
            return f"{refuse} tells nobody"
    '''
    found = in_messages(textwrap.dedent(source), RULES)
    assert [(each.line, each.found) for each in found] == [(5, "tells"), (5, "nobody")]


@pytest.mark.parametrize(
    "message",
    [
        "the target lies in a bucket",
        "it runs beside plain pods",
        "the CRD is not there",
        "the engine drops it without a word",
        "serve it plainly",
        "the spec asks for no speculation",
        "leave replicas out",
        "the Job is gone",
        "late tokens are seldom accepted",
        "use 0.16 where clients ask",
        "controlled by kopf; somebody else wrote it",
    ],
)
def test_messages_have_rules_that_pages_do_not_have(message: str) -> None:
    """One of each, of messages that this project once had."""
    assert in_messages(f"WORDS = {message!r}", RULES)


@pytest.mark.parametrize(
    "text", ["claim", "self.mode == 'Auto' || has(self.claim)", '(?P<claim>[^"]+) is gone', "set `claim.storage`"]
)
def test_keys_rules_of_the_api_server_and_patterns_are_not_messages(text: str) -> None:
    """No user reads them as a sentence; names of fields stay as they are."""
    assert not in_messages(f"KEY = {text!r}", RULES)


def test_data_is_checked_string_by_string_with_its_line() -> None:
    """Values at any depth; a key is a name."""
    data = '{\n "claim": 1,\n "rules": [\n  {"says": "The claim is bound."},\n  {"says": "The PVC is bound."}\n ]\n}\n'
    assert [(each.line, each.found) for each in in_data(data, RULES)] == [(4, "claim")]


def test_each_rule_has_a_reason_and_a_better_form() -> None:
    """A user whose text is refused learns what to write."""
    assert all(each.why and each.use for each in (*RULES.rules, *RULES.messages))
    with pytest.raises(KeyError):
        rules_of({"rules": [{"find": "x", "why": "y"}], "most_words": 40})


def test_the_command_ends_with_1_for_a_page_with_findings(capsys: pytest.CaptureFixture[str]) -> None:
    """docs/style.md quotes what is not written, so it has some."""
    assert command.main(["docs/style.md"]) == 1
    assert "docs/style.md:" in capsys.readouterr().err
    assert command.main(["README.md"]) == 0
