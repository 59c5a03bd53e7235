"""A disposable process that SIGKILL does not end, as one that waits in the kernel: here, SIGKILL is not sent."""

import os
import signal

import msgspec
import pytest

from supervision.fork_server.disposables import Disposables
from supervision.fork_server.loop import Loop
from supervision.fork_server.oom_kills import OomKills
from supervision.process_messages import DisposableResult, RunDisposable

pytestmark = pytest.mark.tree


def test_an_abandoned_disposable_is_answered_counted_and_reaped_when_it_ends() -> None:
    loop, killed, answers = Loop(), [], []
    disposables = Disposables(loop, list, OomKills(), kill=lambda pid, _: killed.append(pid))

    def answered(result: DisposableResult) -> None:
        answers.append(result)
        loop.stop()

    arguments = msgspec.msgpack.encode({"seconds": 60.0})
    hanging = RunDisposable("tests.support.tree_actors:nap", arguments, 0.1)
    disposables.run("a", hanging, answered)
    loop.call_later(10, loop.stop)
    loop.run()
    (answer,) = answers
    assert answer.timed_out
    assert answer.text.endswith("still ran after 0.1 s and cannot be killed: abandoned")
    assert (disposables.abandoned, disposables.running) == (1, 0)
    (pid,) = killed
    os.kill(pid, signal.SIGKILL)
    reaped, status = os.waitpid(pid, 0)
    assert disposables.reaped(reaped, status)
    assert disposables.abandoned == 0
    assert len(answers) == 1


def test_a_hanging_disposable_is_not_started_twice() -> None:
    loop, killed, answers = Loop(), [], []
    disposables = Disposables(loop, list, OomKills(), kill=lambda pid, _: killed.append(pid))
    arguments = msgspec.msgpack.encode({"seconds": 60.0})
    hanging = RunDisposable("tests.support.tree_actors:nap", arguments, 0.1)

    def answered(result: DisposableResult) -> None:
        answers.append(result)
        loop.stop()

    disposables.run("a", hanging, answered)
    loop.call_later(10, loop.stop)
    loop.run()
    disposables.run("b", hanging, answers.append)
    assert [answer.timed_out for answer in answers] == [True, True]
    assert (disposables.abandoned, disposables.running) == (1, 0)
    (pid,) = killed
    os.kill(pid, signal.SIGKILL)
    assert disposables.reaped(*os.waitpid(pid, 0))
    disposables.run("a", RunDisposable("tests.support.tree_actors:nap", arguments, 60.0), answers.append)
    assert disposables.running == 1
    disposables.kill_all()
    os.kill(killed[1], signal.SIGKILL)
    assert disposables.reaped(*os.waitpid(killed[1], 0))
