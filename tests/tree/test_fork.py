"""A child never gets out into the code of the process that forked it."""

import os
import sys

import pytest

from supervision.fork_server.fork import fork
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
