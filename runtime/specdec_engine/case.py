"""What is judged: one engine, one pair of models, one speculative configuration, some flags."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from specdec_engine.version import Build

Json = Mapping[str, Any]
_NOTHING: Json = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFolderFacts:
    """What is known of a model folder without its weights.

    config: its config.json; None if it could not be read; then `problem` has the reason (`no config.json`, `not JSON`).
    files: names of the folder's entries; None: not known.
    tokenizer: any digest of the token ids; equal digests are equal tokenizers. Empty: not known.
    """

    path: str
    config: Json | None = None
    problem: str = ""
    tokenizer: str = ""
    files: frozenset[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What an engine is asked to start with.

    target, draft: None where nothing is known of the model; rules about models are then silent.
    target_name, draft_name: what the models are called, such as their URIs; read only where a config is not known.
    speculation: the object of --speculative-config; None: no speculation. Its keys are the engine's (snake case).
    args: the engine's flags by their Python names, `max_num_seqs` for --max-num-seqs; absent ones have defaults.
    env: environment variables that change what the engine accepts.
    packages: optional Python packages that are installed beside the engine, such as arctic_inference; specdec_runtime
        stands for what this release's images correct. None: not known.
    devices: how many the pod requests; None: not known.
    other_devices: whether it requests devices without a number, such as slices.
    device_bytes, device_name: memory of one device, and what its driver calls it; None and empty: not known.
    """

    build: Build
    target: ModelFolderFacts | None = None
    draft: ModelFolderFacts | None = None
    target_name: str = ""
    draft_name: str = ""
    speculation: Json | None = None
    args: Json = field(default_factory=lambda: _NOTHING)
    env: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    packages: frozenset[str] | None = frozenset()
    devices: int | None = None
    other_devices: bool = False
    device_bytes: int | None = None
    device_name: str = ""

    def size(self, flag: str, default: int = 1) -> int:
        """A flag that is a whole number; the default where it is 0, absent or something else."""
        value = self.args.get(flag)
        return value if isinstance(value, int) and not isinstance(value, bool) and value else default

    def switched(self, flag: str) -> bool:
        """Whether a switch is explicitly on."""
        return self.args.get(flag) is True

    def part(self, flag: str, key: str) -> Any:
        """A value inside a flag that takes an object; None where it is not there."""
        value = self.args.get(flag)
        return value.get(key) if isinstance(value, dict) else None
