"""What a text breaks of the rules of prose. Pure: text in, findings out."""

import ast
import io
import itertools
import json
import re
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

_NO_PROSE: Final = re.compile(
    r"^ *(?P<fence>`{3,})[^\n]*\n.*?^ *(?P=fence)|<!--.*?-->|`[^`\n]+`|(?<=\])\([^)\s]+\)|<[^>\n]+>|https?://\S+",
    re.M | re.S,
)
"""Blocks, comments, code, targets of links, tags, addresses."""
_PARAGRAPH: Final = re.compile(r"^\s*$|^(?=\s*(?:[-*]|\d+\.) |\||#)", re.M)
"""A paragraph ends at an empty line, and before an item, a row or a heading."""
_SENTENCE: Final = re.compile(r"\S.*?(?:[.?!:;](?=\s)|$)", re.S)
_NO_MESSAGE: Final = re.compile(r"\A\S*\Z|\bself\.|\bhas\(|\(\?[P:=!<]")
"""Strings of code that no user reads: single words such as keys, validation rules in CEL, regular expressions."""

_FOR_TOOLS: Final = re.compile(r"# (noqa|type|fmt|mypy)\b|#!")
"""Comments that no person is meant to read."""


@dataclass(frozen=True, slots=True)
class ProseRule:
    """One thing that is not written: how it is found, why not, and what is written in its place."""

    find: re.Pattern[str]
    why: str
    use: str


@dataclass(frozen=True, slots=True)
class Rules:
    """All rules, those for messages alone, and how many words a sentence may have."""

    rules: tuple[ProseRule, ...]
    most_words: int
    messages: tuple[ProseRule, ...] = ()


@dataclass(frozen=True, slots=True)
class ProseFinding:
    """What is wrong on a line."""

    line: int
    found: str
    why: str
    use: str

    def __str__(self) -> str:
        return f'{self.line}: "{self.found}": {self.why}; use: {self.use}'


def rules_of(data: Mapping[str, Any]) -> Rules:
    """The rules of a file. Raises KeyError or re.error for data of another form than that of rules.yaml."""
    return Rules(_rules(data["rules"]), int(data["most_words"]), _rules(data.get("messages") or ()))


def _rules(rows: Iterable[Mapping[str, str]]) -> tuple[ProseRule, ...]:
    return tuple(ProseRule(re.compile(each["find"], re.I | re.M), each["why"], each["use"]) for each in rows)


def on_page(text: str, rules: Rules) -> list[ProseFinding]:
    """Everything in a Markdown page that breaks a rule, by line."""
    prose = _NO_PROSE.sub(lambda found: re.sub(r"[^\n]", " ", found[0][:-1]) + "¤", text)
    return sorted(_by_paragraph(prose, rules, in_rows=0), key=lambda each: each.line)


def in_messages(source: str, rules: Rules) -> list[ProseFinding]:
    """Everything in the strings of a Python file that breaks a rule. Docstrings, keys and names are not checked."""
    tree = ast.parse(source)
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare:
            found += [replace(each, line=node.lineno) for each in _in_text(node.value, rules)]
    return sorted(found, key=lambda each: each.line)


def in_notes(source: str, rules: Rules) -> list[ProseFinding]:
    """Everything in the docstrings, comments and names of tests of a Python file that breaks a rule."""
    found = []
    for line, text in _notes(source):
        prose = re.sub(r"`[^`]+`|https?://\S+", lambda code: re.sub(r"[^\n]", "¤", code[0]), text)
        broken = _by_paragraph(prose, rules, in_rows=rules.most_words)
        found += [replace(each, line=each.line + line - 1) for each in broken]
    return sorted(found, key=lambda each: each.line)


def _notes(source: str) -> Iterator[tuple[int, str]]:
    """Each docstring, comment and name of a test with its first line. Comments for tools are left out."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node.lineno, node.name.replace("_", " ")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not _FOR_TOOLS.match(token.string):
            yield token.start[0], token.string.lstrip("# ")


def in_data(source: str, rules: Rules) -> list[ProseFinding]:
    """Everything in the strings of a JSON file that breaks a rule; keys of objects are not checked."""
    found = []
    for text in _strings(json.loads(source)):
        line = _line(source, max(0, source.find(json.dumps(text, ensure_ascii=False))))
        found += [replace(each, line=line) for each in _in_text(text, rules)]
    return sorted(found, key=lambda each: each.line)


def _strings(data: object) -> Iterator[str]:
    inner = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    if isinstance(data, str):
        yield data
    for each in inner:
        yield from _strings(each)


def _in_text(text: str, rules: Rules) -> Iterator[ProseFinding]:
    """What is wrong with one string of a program."""
    if not _NO_MESSAGE.search(text):
        prose = re.sub(r"`[^`\n]+`", "¤", text)
        yield from _broken(prose, (*rules.rules, *rules.messages), rules.most_words)


def _by_paragraph(prose: str, rules: Rules, *, in_rows: int) -> Iterator[ProseFinding]:
    """What is wrong with each paragraph of a text, with its line in the text.

    in_rows: how many words a row of a table may have; 0: any number.
    """
    for start, end in _paragraphs(prose):
        part, above = prose[start:end], prose.count("\n", 0, start)
        limit = in_rows if part.lstrip().startswith("|") else rules.most_words
        yield from (replace(each, line=each.line + above) for each in _broken(part, rules.rules, limit))


def _paragraphs(prose: str) -> Iterator[tuple[int, int]]:
    marks = [0, *(each.start() for each in _PARAGRAPH.finditer(prose)), len(prose)]
    for start, end in itertools.pairwise(marks):
        if prose[start:end].strip():
            yield start, end


def _broken(prose: str, rules: tuple[ProseRule, ...], most_words: int) -> Iterator[ProseFinding]:
    """What is wrong with a paragraph. most_words: of a sentence; 0 for a row of a table, which is a list."""
    flat = prose.replace("\n", " ")
    for rule in rules:
        for match in rule.find.finditer(flat):
            yield ProseFinding(_line(prose, match.start()), " ".join(match[0].split()), rule.why, rule.use)
    for match in _SENTENCE.finditer(flat) if most_words else ():
        words = match[0].split()
        if len(words) > most_words:
            head = " ".join(words[:6])
            yield ProseFinding(_line(prose, match.start()), head, f"a sentence of {len(words)} words", "two sentences")


def _line(prose: str, at: int) -> int:
    return prose.count("\n", 0, at) + 1
