"""Lets extract_hidden_states write on a CPU: vLLM's own connector copies by way of pinned memory, which only an
accelerator has, so the first request is answered and then the engine dies.

Imported inside vLLM only, when a server asks for the connector.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch  # type: ignore[import-not-found]
from vllm.distributed.kv_transfer.kv_connector.v1 import (  # type: ignore[import-not-found]
    example_hidden_states_connector as original,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


class Done:
    """A copy that is finished as soon as it is begun, in place of a device's event."""

    def query(self) -> bool:
        """Return that it is finished."""
        return True

    def synchronize(self) -> None:
        """Wait for nothing."""


class ExampleHiddenStatesConnector(original.ExampleHiddenStatesConnector):  # type: ignore[misc]
    """vLLM's connector, with states that lie in main memory already."""

    def _submit_async_write(self, pending: Any) -> None:
        """Take a finished request's states out of the cache, and have them written."""
        if not self._is_tp_rank_zero:
            return
        places = torch.tensor(list(self._places(pending.block_ids)), dtype=torch.long)
        states = original.extract_from_kv_cache(self._kv_cache, places, pending.token_ids.shape[0])
        tensors = {"hidden_states": states.contiguous(), "token_ids": pending.token_ids.clone()}
        lock = self._lock_fds.pop(pending.req_id, None)
        written = self._executor.submit(self._write_tensors, tensors, Done(), pending.filename, lock)
        self._req_copy_events[pending.req_id] = Done()
        self._req_futures[pending.req_id] = written
        written.add_done_callback(lambda each: self._on_write_done(pending.req_id, each))

    def _places(self, blocks: list[int]) -> Iterator[int]:
        """Return where in the cache the tokens of a request lie."""
        for block in blocks:
            yield from range(block * self._block_size, (block + 1) * self._block_size)
