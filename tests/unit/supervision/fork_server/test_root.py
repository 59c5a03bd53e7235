"""The fork server as the supervisor of the root: by the rules of any supervisor."""

from __future__ import annotations

import signal

from supervision.fork_server.root import GiveUp, RootSupervision, StartAgain
from supervision.process_messages import EXIT_ESCALATED, EXIT_EXCEPTION, Exited
from supervision.protocol import ROOT
from supervision.spec import Policy
from supervision.supervisor.transitions import FORK_RETRY_SECONDS

POLICY = Policy(max_restarts=2, period_seconds=60.0, backoff_seconds=0.5, backoff_reset_seconds=10.0)


def _exited(status: int = 11, uptime: float = 1.0, detail: str = "") -> Exited:
    return Exited(ROOT, 1, 100, status, "signal", "", detail, uptime)


def test_the_first_restart_comes_at_once_and_the_next_one_after_a_pause() -> None:
    root = RootSupervision(clock=lambda: 0.0, rng=lambda: 0.0)
    assert [root.failed(_exited(), POLICY) for _ in range(2)] == [StartAgain(0.0), StartAgain(0.5)]


def test_the_agent_gives_up_when_the_root_fails_too_often_within_the_period() -> None:
    now = [0.0]
    root = RootSupervision(clock=lambda: now[0], rng=lambda: 0.0)
    for _ in range(2):
        assert isinstance(root.failed(_exited(), POLICY), StartAgain)
    assert root.failed(_exited(), POLICY) == GiveUp("the root failed more than 2 times in 60 s")
    now[0] = 61.0
    assert isinstance(root.failed(_exited(), POLICY), StartAgain), "the period is over"


def test_a_root_that_gives_up_is_a_failure_like_others() -> None:
    root = RootSupervision(clock=lambda: 0.0, rng=lambda: 0.0)
    gives_up = _exited(EXIT_ESCALATED << 8, detail="pleg failed 9 times in 30 s")
    assert [root.failed(gives_up, POLICY) for _ in range(3)] == [
        StartAgain(0.0),
        StartAgain(0.5),
        GiveUp("the root failed more than 2 times in 60 s: pleg failed 9 times in 30 s"),
    ]


def test_a_root_that_is_killed_from_outside_is_always_started_again_after_longer_and_longer_pauses() -> None:
    """As by an operator or the kernel; a SIGKILL of the agent's own has another cause."""
    root = RootSupervision(clock=lambda: 0.0, rng=lambda: 0.0)
    assert [root.failed(_exited(signal.SIGKILL), POLICY) for _ in range(4)] == [
        StartAgain(pause) for pause in (0.0, 0.5, 1.0, 2.0)
    ]
    hang = Exited(ROOT, 1, 100, signal.SIGKILL, "hang", "", "", 1.0)
    assert isinstance([root.failed(hang, POLICY) for _ in range(3)][-1], GiveUp)


def test_a_root_for_which_the_host_has_no_process_is_tried_again_for_as_long_as_it_takes() -> None:
    root = RootSupervision(clock=lambda: 0.0, rng=lambda: 0.0)
    unforked = Exited(ROOT, 1, 0, EXIT_EXCEPTION << 8, "exit", "", "fork: Resource temporarily unavailable")
    pauses = [root.failed(unforked, POLICY) for _ in range(20)]
    assert pauses[:2] == [StartAgain(0.0), StartAgain(0.5)]
    assert pauses[-1] == StartAgain(FORK_RETRY_SECONDS)
