"""Follows a script as a shell runs it, and collects which of its commands starts an engine.

Other commands are assumed to succeed. Of a branch, only the changes are kept that all its sides agree on. Each function
is followed once. So the work grows with the length of the script.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from tree_sitter import Node

from specdec_operator.shell.assignments import assign, export_words, exported, names_in, set_variable
from specdec_operator.shell.grammar import Trouble, line_of, parse
from specdec_operator.shell.parts import Part, files_of, parts_of
from specdec_operator.shell.programs import Given, Kind, Script, Start, may_pass_flags, started
from specdec_operator.shell.values import Frame, command_words, words_of
from specdec_operator.shell.variables import Variable, Variables
from specdec_operator.shell.word import Span, Word

_MOST_SCRIPTS: Final = 4
"""Scripts inside scripts."""
_NO_ASSUMPTION: Final = frozenset({"[", "test", "grep", "command", "which", "type", "hash", "false", "let", "pgrep"})
"""Commands whose failure is an answer."""
_SILENT: Final = frozenset({"set", ":", "true", "exec", "shift", "wait", "exit", "return"})
"""Commands that set nothing of the engine."""
_EXPORTING: Final = frozenset({"export", "declare", "local", "readonly", "typeset"})
"""Where the grammar takes them for ordinary commands: behind a line with two assignments."""
_ASSIGNING: Final = frozenset({"read", "printf", "mapfile", "readarray", "getopts", "let"})
_GROUPS: Final = frozenset({"compound_statement", "do_group", "else_clause", "negated_command"})
_ASSIGNMENTS: Final = frozenset({"variable_assignment", "variable_assignments", "declaration_command", "unset_command"})
_LOOPS: Final = frozenset({"for_statement", "while_statement", "c_style_for_statement"})


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineStart:
    """A command that starts an engine. branch: why only a shell knows whether it runs, or how often.

    exports: the variables that it gets beside the container's own, or in place of them; None: it does not get that one;
    `exported` is None if that is uncertain.
    """

    start: Start
    line: int
    branch: str = ""
    exports: tuple[tuple[str, Variable | None], ...] = ()


class Walk:
    """One run over a container's command, or over a typed line."""

    def __init__(self, known: Mapping[str, str | None], *, more: bool = False) -> None:
        self.variables = Variables(known, more=more)
        self.starts: list[EngineStart] = []
        self.unknown: list[EngineStart] = []
        self.before: list[str] = []
        self.after: list[str] = []
        self.troubles: list[Trouble] = []
        self.elsewhere: list[Trouble] = []
        self._parts: list[Part] = []
        self._opened: set[Span | None] = set()
        self._functions: dict[str, tuple[Node, Frame]] = {}
        self._called: set[str] = set()
        self.again = ""
        self._ended = False
        self._branch = ""
        self._depth = 0
        self._rules: dict[str, Callable[[Node, Frame], None]] = {
            "command": self._simple,
            "redirected_statement": self._redirected,
            "list": self._list,
            "pipeline": self._pipeline,
            "if_statement": self._if,
            "case_statement": self._case,
            "subshell": self._subshell,
            "function_definition": self._define,
        }

    def run(self, words: Sequence[Word], line: int = 0, text: str = "", given: Given = Given.SCRIPT) -> None:
        """Follows one command. line: of its script, 0 if it stands in none. text: as it is written."""
        made = started(words, given)
        if isinstance(made, Script):
            self._script(made, line, text)
        elif made is not None:
            first = len(self.starts) < 2  # further ones are counted only
            exports = tuple(self.variables.exported().items()) if first else ()
            self.starts.append(EngineStart(start=made, line=line, branch=self._branch, exports=exports))
        elif words and (words[0].value or "") not in _SILENT:
            self.note(text)
            if len(self.unknown) < 2 and may_pass_flags(words):
                start = Start(kind=Kind.OTHER, words=tuple(words[1:]), doubt=f"{words[0].text} is not a known program")
                self.unknown.append(EngineStart(start=start, line=line, branch=self._branch))

    def parts(self, words: Iterable[Word]) -> tuple[Part, ...]:
        """All words and operators, of these words and of the scripts in them. A script's own stand in its place."""
        every = [*(Part(text=each.text, span=each.span) for each in words), *self._parts]
        return tuple(each for each in every if each.span is None or each.span not in self._opened)

    def note(self, text: str) -> None:
        """Another command than the engine."""
        if text:
            (self.after if self.starts else self.before).append(" ".join(text.split()))

    def _script(self, made: Script, line: int, text: str) -> None:
        word = made.script
        if word is None or word.value is None:
            why = made.why or (f"the script {word.text} {word.why}" if word else "a shell is given no script")
            self.elsewhere.append(Trouble(why=why, line=line))
            self.note(text)
        elif self._depth >= _MOST_SCRIPTS or not self.variables.spend(len(word.value)):
            self.troubles.append(Trouble(why="its scripts are too long, or nest too deep", line=line))
        elif made.own:
            self._own_script(made, word)
        else:
            self._text(word, bash=made.bash)

    def _own_script(self, made: Script, word: Word) -> None:
        """A script that has a shell, and variables, of its own."""
        variables, outer, program = self.variables, self.variables.arguments, self.variables.program
        mark = variables.mark()
        for name, value in made.env:
            variables.set(name, exported(value) if value else None)
        variables.arguments, variables.program = made.arguments, made.program
        self._text(word, bash=made.bash)
        for each in made.beside:
            self.note(each)
        variables.arguments, variables.program = outer, program
        variables.undo(mark)

    def _text(self, word: Word, *, bash: bool) -> None:
        """Follows the script that a word is."""
        syntax = parse(word.value or "")
        item = word.span.item if word.span and word.verbatim is not None else None
        frame = Frame(syntax=syntax, item=item, offset=word.verbatim or 0, bash=bash)
        if item is not None:
            self._opened.add(word.span)
        self._parts += parts_of(frame)
        if syntax.trouble is not None:
            self.troubles.append(syntax.trouble)
        if syntax.unreadable:
            return
        ended, self._ended = self._ended, False
        self._depth += 1
        self._each(syntax.root.children, frame)
        self._depth -= 1
        self._ended = ended

    def _each(self, nodes: Iterable[Node], frame: Frame) -> None:
        """Statements, one after another."""
        for node in nodes:
            if not self._ended:
                self._statement(node, frame)

    def _statement(self, node: Node, frame: Frame) -> None:
        """One statement; what the grammar has no rule for here, such as `[[ ... ]]`, starts nothing."""
        kind = node.type
        if kind == "compound_statement" and node.children[0].type == "((":
            self.variables.may_change(names_in([node], frame), "is counted")
        elif kind in _GROUPS:
            self._each(node.children, frame)
        elif kind in _ASSIGNMENTS:
            assign(node, frame, self.variables)
        elif kind in _LOOPS:
            self._loop(node, frame)
        elif follow := self._rules.get(kind):
            follow(node, frame)

    def _case(self, node: Node, frame: Frame) -> None:
        items = [each.children for each in node.children if each.type == "case_item"]
        self._branches([*items, []], frame, line_of(node))

    def _subshell(self, node: Node, frame: Frame) -> None:
        self._apart(node.children, frame)

    def _define(self, node: Node, frame: Frame) -> None:
        self._functions[self._field(node, "name", frame)] = (node, frame)

    def _simple(self, node: Node, frame: Frame) -> None:
        self._command(node, frame, ())

    def _field(self, node: Node, name: str, frame: Frame) -> str:
        found = node.child_by_field_name(name)
        return frame.syntax.text(found.start_byte, found.end_byte) if found else ""

    def _command(self, node: Node, frame: Frame, extra: Sequence[Node]) -> None:
        """A simple command. extra: words of it that the tree puts elsewhere."""
        text = frame.syntax.text(node.start_byte, node.end_byte)
        nodes = [each for each in node.children if not each.type.endswith(("redirect", "assignment", "comment"))]
        nodes = sorted([*nodes, *extra], key=lambda each: each.start_byte)
        prefix = [each for each in node.children if each.type == "variable_assignment"]
        if prefix and nodes and frame.syntax.is_new_line(prefix[-1].end_byte, nodes[0].start_byte):
            self._set_all(prefix, frame, exported=False)  # a line before the command, which the grammar adds to it
            prefix = []
        if any(frame.syntax.is_new_line(one.end_byte, next_.start_byte) for one, next_ in pairwise(nodes)):
            self.troubles.append(Trouble(why="the grammar reads two lines as one command", line=line_of(node)))
        words = command_words(nodes, frame, self.variables)
        mark = self.variables.mark()
        self._set_all(prefix, frame, exported=True)
        head = words[0].value if words else None
        if head in self._functions:
            self._call(str(head), words[1:], line_of(node))
        elif head == "eval":
            self._eval(words[1:], line_of(node), text)
        else:
            self.run(words, line_of(node), text)
        if prefix:
            self.variables.undo(mark)
        self._effects(head, words, node)

    def _set_all(self, nodes: Iterable[Node], frame: Frame, *, exported: bool) -> None:
        for each in nodes:
            set_variable(each, frame, self.variables, exported=exported)

    def _effects(self, head: str | None, words: Sequence[Word], node: Node) -> None:
        """What a command changes of the shell itself."""
        values = [each.value or "" for each in words[1:]]
        if head in ("exit", "return") or (head == "exec" and len(words) > 1):
            self._ended = True
        elif head == "set" and "--" in values:
            self.variables.arguments = tuple(words[values.index("--") + 2 :])
        elif head == "set" and ("-a" in values or "allexport" in values):
            self.variables.exports_all = True
        elif head == "shift":
            self.variables.arguments = None
        elif head in _EXPORTING:
            export_words(words[1:], self.variables)
        elif head in _ASSIGNING:
            self.variables.may_change(values, f"`{head}` sets (line {line_of(node)})")

    def _eval(self, words: Sequence[Word], line: int, text: str) -> None:
        values = [each.value for each in words]
        known = None if None in values else " ".join(each or "" for each in values)
        script = Word(text=text, value=known, why="is known to a shell only")
        self._script(Script(script=script, own=False), line, text)

    def _call(self, name: str, words: Sequence[Word], line: int) -> None:
        node, frame = self._functions[name]
        body = node.child_by_field_name("body")
        if name in self._called or body is None:
            if not self.variables.spend(node.end_byte - node.start_byte):
                self.troubles.append(Trouble(why="it calls functions too often", line=line))
                self._ended = True
            self.variables.may_change(names_in([node], frame), f"function {name} sets")
            self.again = self.again or f"function {name} is called more than once (line {line})"
            return
        self._called.add(name)
        outer, self.variables.arguments = self.variables.arguments, tuple(words)
        self._statement(body, frame)
        self.variables.arguments = outer

    def _redirected(self, node: Node, frame: Frame) -> None:
        """A statement with redirections, of which the tree gives some words of the command to the redirection."""
        body, extra = node.child_by_field_name("body"), []
        later: list[Node] = []
        for each in node.children:
            if each.type == "file_redirect":
                extra += each.children_by_field_name("destination")[1:]
            elif each.type == "heredoc_redirect":
                extra += each.children_by_field_name("argument")
                later += [one for one in each.children if one.type in ("pipeline", "list", "command")]
        if body is not None and body.type == "command":
            self._command(body, frame, extra)
        elif body is not None:
            self._statement(body, frame)
        for text in files_of(node, frame):
            self.note(text if self.starts else "")
        for each in later:
            self._statement(each, frame)

    def _list(self, node: Node, frame: Frame) -> None:
        """`a && b || c`: of each its success is assumed, except of tests."""
        chain: list[tuple[str, Node]] = []
        while node.type == "list":
            chain.append((node.children[1].type, node.children[-1]))
            node = node.children[0]
        self._statement(node, frame)
        left = self._outcome(node, frame)
        for operator, right in reversed(chain):
            if self._ended:
                return
            runs = left if operator == "&&" else (None if left is None else not left)
            if runs is True:
                self._statement(right, frame)
                left = self._outcome(right, frame)
            elif operator == "||" or left is None:
                self._branches([[right], []], frame, line_of(right), mark=left is None)
                left = None if left is None else True

    def _outcome(self, node: Node, frame: Frame) -> bool | None:
        """Whether a statement succeeds; None: only a shell knows."""
        if node.type == "test_command":
            return self._test(node, frame)
        if node.type == "redirected_statement":
            node = node.child_by_field_name("body") or node
        if node.type == "negated_command":
            return None
        name = node.child_by_field_name("name") if node.type == "command" else None
        if name is None:
            return True
        text = frame.syntax.text(name.start_byte, name.end_byte)
        return None if text in _NO_ASSUMPTION else text != "false"

    def _test(self, node: Node, frame: Frame) -> bool | None:
        """`[ -z "$X" ]` and `[ -n "$X" ]`, if the value is certain."""
        inner = [each for each in node.named_children if each.is_named]
        if len(inner) != 1 or inner[0].type != "unary_expression" or inner[0].child_count != 2:
            return None
        operator, word = inner[0].children
        found = list(words_of(word, frame, self.variables))
        sign = frame.syntax.text(operator.start_byte, operator.end_byte)
        if sign not in ("-z", "-n") or len(found) != 1 or found[0].value is None:
            return None
        return (found[0].value == "") == (sign == "-z")

    def _pipeline(self, node: Node, frame: Frame) -> None:
        """Each command of a pipeline has a shell of its own."""
        piped = False
        for each in node.children:
            if not each.is_named:
                piped = piped or each.type in ("|", "|&")
                continue
            there = len(self.starts)
            after = len(self.after)
            self._apart([each], frame)
            if piped and len(self.starts) == there and len(self.after) > after:
                self.after[after] = f"| {self.after[after]}"

    def _apart(self, nodes: Iterable[Node], frame: Frame) -> None:
        """Statements whose changes a subshell keeps to itself."""
        mark, ended, outer = self.variables.mark(), self._ended, self.variables.arguments
        self._each(nodes, frame)
        self.variables.undo(mark)
        self.variables.arguments = outer
        self._ended = ended

    def _if(self, node: Node, frame: Frame) -> None:
        """The side that is certain, or all sides as branches."""
        sides: list[list[Node]] = [[]]
        otherwise = False
        asked = True
        known: bool | None = None
        for each in node.children:
            if each.type in ("elif_clause", "else_clause"):
                sides.append(list(each.children))
                otherwise = otherwise or each.type == "else_clause"
            elif not asked:
                sides[0].append(each)
            elif each.type == "then":
                asked = False
            elif each.is_named:
                self._statement(each, frame)
                known = self._outcome(each, frame) if each.type == "test_command" else None
        if known is True:
            self._each(sides[0], frame)
        elif known is False and len(sides) == 1:
            return
        elif known is False and len(sides) == 2 and otherwise:
            self._each(sides[1], frame)
        else:
            self._branches([*sides, *([] if otherwise else [[]])], frame, line_of(node))

    def _branches(self, sides: Sequence[Sequence[Node]], frame: Frame, line: int, *, mark: bool = True) -> None:
        """Sides of which only a shell knows which one runs."""
        outer, ended = self._branch, self._ended
        self._branch = outer or (f"it stands in a branch (line {line})" if mark else "it runs only after a failure")
        changed = []
        for side in sides:
            point, arguments = self.variables.mark(), self.variables.arguments
            self._ended = ended
            self._each(side, frame)
            found = self.variables.undo(point)
            changed += [found] if not self._ended else []
            if arguments is not self.variables.arguments:
                self.variables.arguments = None
        self._branch, self._ended = outer, ended
        self.variables.join(changed, line)

    def _loop(self, node: Node, frame: Frame) -> None:
        why = f"a loop sets (line {line_of(node)})"
        self.variables.may_change(names_in([node], frame), why)
        self._each([each for each in node.children if each.is_named and each.type != "do_group"], frame)
        for each in node.children:
            if each.type == "do_group":
                self._each(each.children, frame)
        self.variables.may_change(names_in([node], frame), why)
