"""A client and a namespace for the tests that need an API server, each with one of its own."""

from tests.wire.conftest import api, world

__all__ = ["api", "world"]
