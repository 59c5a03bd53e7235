from __future__ import annotations

import logging

import pytest

from actors.api_clients.kube_client.refused_collections import RefusedCollections
from actors.shared.api.errors import Forbidden, Unreachable
from actors.shared.api.remedies import of_error
from supervision.process_messages import ServiceState

FORBIDDEN = Forbidden(403, "Forbidden", "pods is forbidden")
SUBJECT = "API server, pods"
TEXT = f"cannot be listed or watched: {FORBIDDEN}"


class Refusals:
    """The class under test, with a clock that is set, and what it tells."""

    def __init__(self) -> None:
        self.now = 100.0
        self.received: list[ServiceState] = []
        self.of = RefusedCollections(self.received.append, logging.getLogger("refused"), lambda: self.now)

    def failed_at(self, now: float, error: Forbidden | Unreachable = FORBIDDEN) -> None:
        self.now = now
        self.of.failed("pods", error, "n1")


def test_an_endless_refusal_is_logged_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    refusals = Refusals()
    for second in range(180):
        refusals.failed_at(100.0 + second)
    assert [one.getMessage() for one in caplog.records] == [f"pods cannot be listed or watched: {FORBIDDEN}"] * 3


def test_a_refusal_of_ten_seconds_is_reported_once_and_taken_back() -> None:
    refusals = Refusals()
    refusals.failed_at(100.0)
    refusals.failed_at(109.0)
    assert refusals.received == []
    refusals.failed_at(110.0)
    refusals.failed_at(111.0)
    assert refusals.received == [ServiceState(SUBJECT, TEXT, 100.0, of_error(FORBIDDEN, "n1"))]
    refusals.of.answered("pods")
    refusals.of.answered("pods")
    assert refusals.received[1:] == [ServiceState(SUBJECT)]


def test_the_first_answer_withdraws_the_report_of_an_earlier_incarnation() -> None:
    refusals = Refusals()
    refusals.of.answered("pods")
    assert refusals.received == [ServiceState(SUBJECT)]


def test_a_silent_server_is_no_refusal(caplog: pytest.LogCaptureFixture) -> None:
    refusals = Refusals()
    refusals.failed_at(100.0, Unreachable(0, "Unreachable", "connection refused"))
    refusals.failed_at(200.0, Unreachable(0, "Unreachable", "connection refused"))
    assert (refusals.received, caplog.records) == ([], [])


def test_refusals_of_collections_are_distinguished() -> None:
    refusals = Refusals()
    refusals.failed_at(100.0)
    refusals.of.answered("services")
    refusals.failed_at(120.0)
    assert [one.service for one in refusals.received] == ["API server, services", SUBJECT]
