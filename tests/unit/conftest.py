"""For unit tests: how long an example of a property may take."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

from tests.support.examples import examples

# a neighbour that takes the processor for a moment is no failure; what hangs is ended by pytest's own timeout
settings.register_profile(
    "unhurried", max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("unhurried")
