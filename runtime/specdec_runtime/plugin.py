"""Corrects two faults of vLLM on CPU. With speculation, temperature, top_k and top_p of a request are read from
uninitialised memory (vllm issue 55005), so sampled text is wrong and any top_k kills the engine. And the connector that
writes hidden states needs an accelerator's memory (hidden_states.py).

Loaded by vLLM as a general plugin in each of its processes. It never raises: vLLM would not start.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

_LOG = logging.getLogger("vllm.specdec")
_Expand = Callable[..., None]


def register() -> None:
    """Put what is corrected in place of vLLM's own on CPU builds; do nothing anywhere else."""
    for what, install in (("sampling", _correct_sampling), ("hidden states", _correct_connector)):
        try:
            if _is_cpu():
                install()
        except Exception as error:
            _LOG.warning("specdec: the CPU correction of %s is not installed: %r", what, error)


def _is_cpu() -> bool:
    # Only importable inside vLLM.
    from vllm.platforms import current_platform  # type: ignore[import-not-found]  # noqa: PLC0415

    return bool(current_platform.is_cpu())


def _correct_connector() -> None:
    """Have vLLM's own name lead to the connector that works here; it is imported when a server asks for it."""
    from vllm.distributed.kv_transfer.kv_connector import factory  # type: ignore[import-not-found]  # noqa: PLC0415

    name, registry = "ExampleHiddenStatesConnector", factory.KVConnectorFactory._registry
    if name in registry:
        registry[name] = _connector


def _connector() -> Any:
    from specdec_runtime.hidden_states import ExampleHiddenStatesConnector  # noqa: PLC0415

    return ExampleHiddenStatesConnector


def _correct_sampling() -> None:
    from vllm.utils import cpu_triton_utils  # type: ignore[import-not-found]  # noqa: PLC0415

    cpu_triton_utils._expand_kernel_impl = _checked(cpu_triton_utils._expand_kernel_impl)


def _checked(original: _Expand) -> _Expand:
    """Return a function that looks at the original on its first call, when its C++ part is loaded."""
    chosen: list[_Expand] = []

    def expand_checked(*arguments: Any, **named: Any) -> None:
        if not chosen:
            broken = is_broken(original)
            _LOG.info("specdec: CPU sampling parameters %s", "corrected" if broken else "are correct as they are")
            chosen.append(expand if broken else original)
        chosen[0](*arguments, **named)

    return expand_checked


def is_broken(function: _Expand) -> bool:
    """Run a function on the smallest case that shows the bug."""
    import torch  # type: ignore[import-not-found]  # noqa: PLC0415

    output = torch.full((3,), -1.0)
    try:
        function(output, torch.tensor([0.5, 0.25]), torch.tensor([1, 3], dtype=torch.int32), 0, 1)
    except Exception:
        return True
    return bool(output.tolist() != [0.5, 0.25, 0.25])


def expand(output: Any, values: Any, cumulative: Any, replaced: float, replacement: float, *_: Any, **__: Any) -> None:
    """Repeat each request's value for each of its draft tokens, in the values' own type.

    vLLM's further arguments size a GPU kernel and mean nothing here.
    """
    import torch  # noqa: PLC0415

    counts = torch.diff(cumulative.long(), prepend=torch.zeros(1, dtype=torch.long))
    values = torch.where(values == replaced, torch.full_like(values, replacement), values)
    output.copy_(torch.repeat_interleave(values, counts))
