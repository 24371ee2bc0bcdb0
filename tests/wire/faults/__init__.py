"""Faults, each brought about for real: the operator handles them as docs/reliability.md states."""

import pytest

pytest.register_assert_rewrite("tests.wire.faults.verdict", "tests.wire.faults.steps", "tests.wire.faults.acts")
