"""Settings for every test: machines are noisy, so no example of a property test fails for being slow.

A run tries few examples and always the same, so that it is quick, and red only by a change. With SPECDEC_EXAMPLES=many
it tries ten times as many, by chance.
"""

import os

from hypothesis import HealthCheck, settings

_FEW = 50

settings.register_profile(
    "few",
    max_examples=_FEW,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("many", settings.get_profile("few"), max_examples=10 * _FEW, derandomize=False)
settings.load_profile("many" if os.environ.get("SPECDEC_EXAMPLES") == "many" else "few")
