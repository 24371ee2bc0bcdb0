"""Faults, each brought about for real: what the operator makes of them is what docs/reliability.md says."""

import pytest

pytest.register_assert_rewrite("tests.wire.faults.verdict", "tests.wire.faults.steps", "tests.wire.faults.acts")
