"""Which ends of a process are faults."""

from __future__ import annotations

import pytest

from supervision.fork_server.process_entry import ProcessEntry
from supervision.fork_server.reports import is_incident
from supervision.protocol import Cause, Exited
from supervision.spec import ChildSpec, Policy, Restart


@pytest.mark.parametrize(
    ("cause", "status", "restart", "expected"),
    [
        ("signal", 9, "permanent", True),
        ("hang", 9, "temporary", True),
        ("exit", 1 << 8, "temporary", True),
        ("exit", 0, "permanent", True),
        ("exit", 0, "transient", False),
        ("stopped", 9, "permanent", False),
        ("restarting", 0, "permanent", False),
        ("parent", 9, "permanent", False),
        ("fork_server", 9, "permanent", False),
    ],
)
def test_an_end_that_nobody_ordered_is_an_incident(cause: Cause, status: int, restart: Restart, expected: bool) -> None:
    child = ProcessEntry("a", "root", ChildSpec(name="a", actor="x:A"), Policy(restart=restart))
    assert is_incident(child, Exited("a", 1, 100, status, cause)) is expected
