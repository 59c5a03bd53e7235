"""One joined node for the tests of a module that leave it as it was; tests that injure it make their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.joined import Joined, joined
from tests.support.runtime import RealRuntime


@pytest.fixture(scope="module")
def site(session_runtime: RealRuntime) -> Iterator[Joined]:
    with joined(session_runtime, nodeStatusUpdateFrequency="1s", nodeStatusReportFrequency="5s") as found:
        yield found


@pytest.fixture
def own(real_runtime: RealRuntime) -> Iterator[Joined]:
    """A node for one test."""
    with joined(real_runtime, "own") as found:
        yield found
