"""A child never gets out into the code of the process that forked it."""

import os
import signal
import sys
from typing import Any

import pytest

from supervision.fork_server import janitor
from supervision.fork_server.fork import fork
from supervision.fork_server.loop import Loop
from supervision.process_messages import EXIT_EXCEPTION

pytestmark = pytest.mark.tree


def _status(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_body_that_raises_or_returns_ends_the_child() -> None:
    assert _status(fork("t", lambda: 1 // 0, ())) == EXIT_EXCEPTION  # type: ignore[arg-type]
    assert _status(fork("t", lambda: None, ())) == EXIT_EXCEPTION
    assert _status(fork("t", lambda: sys.exit(3), ())) == EXIT_EXCEPTION
    assert _status(fork("t", lambda: os._exit(5), ())) == 5


def test_a_child_that_cannot_close_what_it_should_ends_too() -> None:
    assert _status(fork("t", lambda: os._exit(5), (9999,))) == EXIT_EXCEPTION
    assert _status(fork("t", lambda: os._exit(5), (-1,))) == 5


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGTERM, signal.SIGHUP])
def test_a_child_ignores_from_its_first_moment_what_is_meant_for_the_fork_server(number: signal.Signals) -> None:
    """`systemctl kill` sends a signal to every process of the service."""

    def body() -> None:
        os.kill(os.getpid(), number)
        os._exit(5)

    assert _status(fork("t", body, ())) == 5


def test_a_signal_that_the_janitor_gets_before_its_exec_is_not_taken_for_one_of_the_fork_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It inherits the pipe into which a handler writes the number. Two SIGTERM would end the agent at once."""
    become = janitor._become

    def signalled(*arguments: Any) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        become(*arguments)

    monkeypatch.setattr(janitor, "_become", signalled)
    before, wakeup = signal.getsignal(signal.SIGTERM), signal.set_wakeup_fd(-1)
    loop, seen = Loop(), []
    loop.on_signal(signal.SIGTERM, lambda: seen.append("SIGTERM"))
    try:
        one = janitor.Janitor([], [])
        os.kill(os.getpid(), signal.SIGTERM)
        one.stop()
        loop.call_later(0.0, loop.stop)
        loop.run()
    finally:
        signal.set_wakeup_fd(wakeup)
        signal.signal(signal.SIGTERM, before)
    assert seen == ["SIGTERM"]
