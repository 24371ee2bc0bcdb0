"""A namespace for the tests that need an API server, each with one of its own; hypothesis as in tests/."""

from tests.wire.conftest import api, world

from tests import conftest as _settings

__all__ = ["_settings", "api", "world"]
