"""One joined node for the tests of a module that leave it as it was; tests that injure it make their own."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Iterator

import pytest

from tests.support.api_process import ApiProcess
from tests.support.joined import Joined, joined
from tests.support.runtime import RealRuntime

_numbers = itertools.count()


def wait_serves(found: Joined) -> None:
    """The node server waits for its certificate, Ready does not: logs and exec would come too early."""
    found.node.until(found.node.serves, "the node's own server")


@pytest.fixture(scope="module")
def site(session_runtime: RealRuntime) -> Iterator[Joined]:
    with joined(
        session_runtime, f"site{next(_numbers)}",
        nodeStatusUpdateFrequency="1s", nodeStatusReportFrequency="5s", volumeStatsAggPeriod="5s",
        syncFrequency="1h",
    ) as found:  # fmt: skip
        wait_serves(found)
        yield found


@pytest.fixture
def own(real_runtime: RealRuntime) -> Iterator[Joined]:
    """A node for one test."""
    with joined(real_runtime, f"own{next(_numbers)}") as found:
        wait_serves(found)
        yield found


@pytest.fixture
def server(own: Joined) -> Iterator[ApiProcess]:
    """The API server of `own`, to be injured."""
    if not isinstance(own.cluster, ApiProcess):
        pytest.skip("NOT TESTED: a real cluster is not injured")
    yield own.cluster
    own.cluster.signal(signal.SIGCONT)
    if not own.cluster.running:
        own.cluster.start()
    own.cluster.no_faults()
