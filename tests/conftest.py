"""Settings for every test: machines are noisy, so no example of a property test fails for being slow."""

from hypothesis import HealthCheck, settings

settings.register_profile("specdec", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("specdec")
