"""YAML text -> documents that know their lines. Bounded in time and memory, whatever the text holds."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

MOST_BYTES: Final = 8 * 2**20
"""A longer input is refused: Kubernetes itself takes no object above 1.5 MiB."""
_MOST_DEPTH: Final = 64
_MOST_NODES: Final = 200_000
"""In one document, aliases counted as often as they are used: a bomb of aliases ends here."""
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_STRING: Final = "tag:yaml.org,2002:str"
_AS_TEXT: Final = frozenset({"tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:value"})
_MERGE: Final = "tag:yaml.org,2002:merge"


class Unreadable(Exception):
    """The text is not YAML that Kubernetes would take; the message has the place and the reason."""

    def __init__(self, line: int, why: str) -> None:
        super().__init__(why)
        self.line = line


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One document. lines: the line of each path, such as `spec.speculation.tokens` or `spec.engine.args[0]`."""

    data: Any
    line: int
    lines: dict[str, int]

    def line_of(self, path: str) -> int:
        """The line of a path, or of the nearest part above it that is written down."""
        while path and path not in self.lines:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return self.lines.get(path, self.line)


@dataclass(slots=True)
class _Builder:
    """Builds one document out of parser events."""

    events: Iterator[Any]
    resolver: Any
    anchors: dict[str, tuple[Any, int]] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    nodes: int = 0

    def node(self, event: Any, path: str, depth: int) -> Any:
        before = self.nodes
        self._count(event, 1)
        if depth > _MOST_DEPTH:
            raise Unreadable(_line(event), f"nested deeper than {_MOST_DEPTH} levels")
        self.lines.setdefault(path, _line(event))
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        if isinstance(event, yaml.ScalarEvent):
            value = self._scalar(event)
        else:
            value = (self._sequence if isinstance(event, yaml.SequenceStartEvent) else self._mapping)(path, depth)
        if event.anchor is not None:
            self.anchors[event.anchor] = (value, self.nodes - before)
        return value

    def _count(self, event: Any, more: int) -> None:
        self.nodes += more
        if self.nodes > _MOST_NODES:
            raise Unreadable(_line(event), f"more than {_MOST_NODES} values in one document, including aliases")

    def _alias(self, event: Any) -> Any:
        if event.anchor not in self.anchors:  # unknown, or inside itself
            raise Unreadable(_line(event), f"alias *{event.anchor} has no anchor before it")
        value, size = self.anchors[event.anchor]
        self._count(event, size)
        return value

    def _sequence(self, path: str, depth: int) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            items.append(self.node(event, f"{path}[{len(items)}]", depth + 1))
        return items

    def _mapping(self, path: str, depth: int) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            if self._is_merge(event):
                merged = self._merged(event, path, depth) | merged
                continue
            key = self._key(event)
            if key in mapping:
                raise Unreadable(_line(event), f"the key {key!r} is duplicated")
            inner = f"{path}.{key}" if path else key
            self.lines[inner] = _line(event)
            mapping[key] = self.node(next(self.events), inner, depth + 1)
        return {**merged, **mapping}

    def _is_merge(self, event: Any) -> bool:
        return isinstance(event, yaml.ScalarEvent) and self._tag(event) == _MERGE

    def _merged(self, event: Any, path: str, depth: int) -> dict[str, Any]:
        """The entries that `<<` brings, from one mapping or several, of which earlier ones have priority."""
        value = self.node(next(self.events), f"{path}.<<", depth + 1)
        every = value if isinstance(value, list) else [value]
        if not all(isinstance(each, dict) for each in every):
            raise Unreadable(_line(event), "<< must have a mapping, or a list of mappings")
        return {key: inner for each in reversed(every) for key, inner in each.items()}

    def _key(self, event: Any) -> str:
        if not isinstance(event, yaml.ScalarEvent):
            raise Unreadable(_line(event), "a key must be plain text")
        return str(event.value)

    def _tag(self, event: Any) -> str:
        if event.tag not in (None, "!"):
            return str(event.tag)
        if not event.implicit[0]:
            return _STRING
        return str(self.resolver.resolve(yaml.ScalarNode, event.value, (True, False)))

    def _scalar(self, event: Any) -> Any:
        tag = self._tag(event)
        if tag == _STRING or tag in _AS_TEXT:
            return event.value
        try:
            made: Any = self.resolver.construct_object(yaml.ScalarNode(tag, event.value, event.start_mark))
        except (yaml.YAMLError, ValueError, OverflowError, KeyError) as error:
            kind = tag.rpartition(":")[2]
            raise Unreadable(_line(event), f"{event.value[:60]!r} cannot be read as {kind}") from error
        return made


def documents(text: str) -> Iterator[Document]:
    """The documents of a YAML text, empty ones left out. Raises Unreadable at the first thing that cannot be read."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:  # bytes of standard input that are not text
        raise Unreadable(text.count("\n", 0, error.start) + 1, "not UTF-8 text") from error
    if size > MOST_BYTES:
        raise Unreadable(1, f"longer than {MOST_BYTES // 2**20} MiB")
    resolver = yaml.SafeLoader("")
    try:
        events = yaml.parse(text, Loader=_LOADER)
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                builder = _Builder(events=events, resolver=resolver)
                first = next(events)
                data = builder.node(first, "", 0)
                if data is not None:
                    yield Document(data=data, line=_line(first), lines=builder.lines)
    except yaml.YAMLError as error:
        raise _unreadable(error) from error


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _unreadable(error: yaml.YAMLError) -> Unreadable:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error).splitlines()[0]
    return Unreadable(mark.line + 1 if mark else 1, f"not YAML: {problem}")
