"""What assignments, `export`, `declare` and `unset` do to the variables of a script."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tree_sitter import Node

from specdec_operator.shell.grammar import line_of
from specdec_operator.shell.values import Frame, command_words, words_of
from specdec_operator.shell.variables import Variable, Variables
from specdec_operator.shell.word import Word, hint_of


def assign(node: Node, frame: Frame, variables: Variables) -> None:
    """Follows a statement that only assigns, exports or unsets."""
    words = [_text(each, frame) for each in node.children if each.type == "word"]
    kind = node.children[0].type if node.children else ""
    exports = kind == "export" or any(each.startswith("-") and "x" in each for each in words)
    exports = exports and not (kind == "export" and "-n" in words)
    for each in [node] if node.type == "variable_assignment" else node.children:
        if each.type == "variable_assignment":
            set_variable(each, frame, variables, exported=exports)
        elif each.type == "variable_name" and kind == "unset":
            variables.set(_text(each, frame), None)
        elif each.type == "variable_name" and exports:
            variables.export(_text(each, frame))


def set_variable(node: Node, frame: Frame, variables: Variables, *, exported: bool) -> None:
    """Follows one assignment. A variable that is exported stays so."""
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is None:
        return
    called = _text(name, frame)
    before = variables.get(called)
    if (
        before is not None
        and not before.here
        and value is not None
        and _text(value, frame).strip('"') in _itself(called)
    ):
        return  # `export X=$X`: the container's own stays
    if name.type == "subscript":
        variables.may_change([called.partition("[")[0]], f"is set in part (line {line_of(node)})")
        return
    made = _value(value, frame, variables)
    if node.children[1].type == "+=":
        made = _added(before, made)
    exported = exported or variables.exports_all or bool(before and before.exported)
    variables.set(called, replace(made, exported=exported))


def _itself(name: str) -> tuple[str, str]:
    """How a script writes the value that a variable has."""
    return f"${name}", f"${{{name}}}"


def export_words(words: Iterable[Word], variables: Variables) -> None:
    """Follows `export`, of which the words are known."""
    for each in words:
        name, equals, value = (each.value or each.text).partition("=")
        if equals:
            known = None if each.value is None else value
            variables.set(name, Variable(value=known, why=each.why, text=value, hint=hint_of(value), exported=True))
        else:
            variables.export(name)


def exported(word: Word) -> Variable:
    """A variable that a program such as env sets for the program behind it."""
    return Variable(value=word.value, why=word.why, text=word.text, hint=word.text, exported=True)


def names_in(nodes: Iterable[Node], frame: Frame) -> Iterator[str]:
    """The variables that statements assign, or count."""
    for root in nodes:
        cursor = root.walk()
        while True:
            node = cursor.node
            if node is not None and node.type == "variable_name" and _is_assigned(node):
                yield _text(node, frame)
            if cursor.goto_first_child():
                continue
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    break
            else:
                continue
            break


def _is_assigned(node: Node) -> bool:
    return node.parent is None or node.parent.type not in ("simple_expansion", "expansion")


def _text(node: Node, frame: Frame) -> str:
    return frame.syntax.text(node.start_byte, node.end_byte)


def _value(node: Node | None, frame: Frame, variables: Variables) -> Variable:
    """The value of an assignment."""
    if node is None:
        return Variable(value="")
    text = _text(node, frame)
    if node.type == "array":
        words = command_words([each for each in node.named_children if each.type != "comment"], frame, variables)
        held = tuple(each.held("it stands in an array") for each in words)
        return Variable(words=held, text=text, hint=hint_of(text), why="uses a part of an array")
    made = list(words_of(node, frame, variables))
    joined = [each.value for each in made]
    hint = hint_of(text, *(each.hint for each in made))
    if None in joined:
        return Variable(text=text, why=next(each.why for each in made if each.value is None), hint=hint)
    return Variable(value=" ".join(each or "" for each in joined), text=text, hint=hint)


def _added(before: Variable | None, made: Variable) -> Variable:
    """`X+=value`."""
    if before is None:
        return replace(made, value=None, why="is added to a value that is not in the manifest", words=None)
    if made.words is not None:
        words = None if before.words is None else (*before.words, *made.words)
        return replace(made, words=words, hint=hint_of(before.hint, made.hint))
    value = None if before.value is None or made.value is None else before.value + made.value
    return replace(made, value=value, why=before.why or made.why, hint=hint_of(before.hint, made.hint))
