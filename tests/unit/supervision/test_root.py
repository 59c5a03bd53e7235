"""The fork server as the supervisor of the root: by the rules of any supervisor."""

from __future__ import annotations

from supervision.fork_server.root import RootSupervision
from supervision.protocol import EXIT_ESCALATED, ROOT, Exited
from supervision.spec import Policy

POLICY = Policy(max_restarts=2, period_seconds=60.0, backoff_seconds=0.5, backoff_reset_seconds=10.0)


def _exited(status: int = 9, uptime: float = 1.0, detail: str = "") -> Exited:
    return Exited(ROOT, 1, 100, status, "signal", "", detail, uptime)


def test_the_first_restart_comes_at_once_and_the_next_one_after_a_pause() -> None:
    root = RootSupervision(clock=lambda: 0.0, rng=lambda: 0.0)
    assert [root.failed(_exited(), POLICY) for _ in range(2)] == [0.0, 0.5]


def test_the_agent_gives_up_when_the_root_fails_too_often_within_the_period() -> None:
    now = [0.0]
    root = RootSupervision(clock=lambda: now[0], rng=lambda: 0.0)
    for _ in range(2):
        assert isinstance(root.failed(_exited(), POLICY), float)
    assert root.failed(_exited(), POLICY) == "the root failed more than 2 times in 60 s"
    now[0] = 61.0
    assert isinstance(root.failed(_exited(), POLICY), float), "the period is over"


def test_a_root_that_escalates_is_not_restarted() -> None:
    decision = RootSupervision().failed(_exited(EXIT_ESCALATED << 8, detail="pleg failed once"), POLICY)
    assert decision == "the root supervisor gives up: pleg failed once"
