"""Looks at the models before vLLM does: files, kinds, vocabularies, shapes and values, in well under a second."""

from specdec_runtime.preflight.command import command
from specdec_runtime.preflight.finding import WORDS, FolderRule
from specdec_runtime.preflight.look import enforce, gather, inspect
from specdec_runtime.preflight.stages import RULES, judge

__all__ = ["RULES", "WORDS", "FolderRule", "command", "enforce", "gather", "inspect", "judge"]
