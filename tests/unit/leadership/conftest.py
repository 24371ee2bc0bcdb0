"""What these tests leave as they found it."""

from collections.abc import Iterator

import pytest

from specdec_operator import metrics


@pytest.fixture(autouse=True)
def _leading() -> Iterator[None]:
    """The gauge of this process shows that it leads, as without an election, for the tests after these."""
    yield
    metrics.leading(True)
