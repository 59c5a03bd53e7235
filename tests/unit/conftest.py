"""For unit tests: how long an example of a property may take, and when garbage of earlier tests may go."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# a neighbour that takes the processor for a moment is no failure; what hangs is ended by pytest's own timeout
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


@pytest.fixture
def old_garbage_stays() -> Iterator[None]:
    """Descriptors and threads that earlier tests have left to the collector do not go in the middle of this one."""
    gc.freeze()
    yield
    gc.unfreeze()
