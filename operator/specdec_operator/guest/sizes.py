"""How much of a guest is read. Its owner is any user of the namespace, so all of it has a limit. Pure.

What is counted is counted before anything is split or parsed: 900 kB of flags took seconds of the whole operator.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

Container: TypeAlias = Mapping[str, Any]

_NAMED: Final = re.compile(r"\$\(([^()]*)\)")
MOST_COMMAND_BYTES: Final = 64 * 1024
"""Of command and args of one container, with the values of variables. A long script of the samples has 2 KiB."""
MOST_OBJECT_BYTES: Final = 512 * 1024
"""Of one object as JSON: a command of that size stands in it up to four times, in annotations too."""
MOST_PAGE_BYTES: Final = 1024 * 1024
"""Of a page of pods as JSON."""
PODS_A_PAGE: Final = 25
"""An ordinary pod has 10 to 20 KiB."""
MOST_PODS: Final = 500
"""That the selector of one guest may find."""
MOST_SELECTOR: Final = 4096
"""Characters of the selector of a Deployment, as a query has it."""


class NotRead(Exception):
    """Something of a guest that is not read, in one sentence that names the object, the value, the rule and the fix."""


def command_bytes(container: Container) -> int:
    """The bytes of command and args of a container, with the values that Kubernetes puts in for `$(NAME)`: a long value
    may be named thousands of times.
    """
    every = [str(each) for field in ("command", "args") for each in container.get(field) or ()]
    variables = [each for each in container.get("env") or () if isinstance(each, Mapping)]
    sizes = {str(each.get("name")): _bytes(str(each.get("value") or "")) for each in variables}
    put_in = sum(sizes.get(name, 0) for each in every for name in _NAMED.findall(each))
    return sum(map(_bytes, every)) + put_in


def _bytes(text: str) -> int:
    return len(text.encode(errors="replace"))


def is_too_long(containers: Iterable[Container]) -> bool:
    """Whether command and args of one of them are not read."""
    return any(command_bytes(each) > MOST_COMMAND_BYTES for each in containers)


def predictor_containers(live: Mapping[str, Any]) -> Iterator[Container]:
    """What of an InferenceService has command and args: the model, under this name, and each container."""
    predictor = (live.get("spec") or {}).get("predictor") or {}
    yield {"name": "model", **(predictor.get("model") or {})}
    yield from predictor.get("containers") or ()
