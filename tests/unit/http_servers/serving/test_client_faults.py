"""How many lines malformed requests may write to the log."""

from __future__ import annotations

import logging

from actors.http_servers.serving.client_faults import BURST, PER_SECOND, ClientFaults


def record(level: int = logging.INFO) -> logging.LogRecord:
    return logging.LogRecord("tornado.general", level, "x.py", 1, "Malformed HTTP message from %s", ("10.0.0.1",), None)


def test_lines_beyond_the_burst_are_dropped_and_counted_in_the_next_one() -> None:
    now = [0.0]
    faults = ClientFaults(lambda: now[0])
    assert [faults.filter(record()) for _ in range(BURST + 7)].count(True) == BURST
    now[0] += 1 / PER_SECOND
    next_one = record()
    assert faults.filter(next_one)
    assert next_one.getMessage() == "Malformed HTTP message from 10.0.0.1 (7 such lines were left out)"
    now[0] += 1 / PER_SECOND
    assert faults.filter(later := record())
    assert later.getMessage() == "Malformed HTTP message from 10.0.0.1"


def test_errors_are_never_left_out() -> None:
    faults = ClientFaults(lambda: 0.0)
    assert all(faults.filter(record(logging.ERROR)) for _ in range(3 * BURST))
