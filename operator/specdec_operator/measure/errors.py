"""Why a measurement ends without a result.

OperatorError
└── Unmeasurable   what is there cannot be measured; the message says why and what to do
    └── Unanswered     one request was not answered as it should: its repeat is thrown away and done again
"""

from specdec_operator.errors import OperatorError


class Unmeasurable(OperatorError):
    """What is there cannot be measured. The message says why, and the way out."""


class Unanswered(Unmeasurable):
    """One request was not answered whole. Another try may do."""
