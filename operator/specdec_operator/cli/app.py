"""The whole program `specdec` as one object, for what looks at all of its commands."""

from typing import Final

from specdec_operator.cli.commands import application

app: Final = application()
