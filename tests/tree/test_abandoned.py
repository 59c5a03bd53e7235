"""A disposable process that SIGKILL does not end, as one that waits in the kernel: here, SIGKILL is not sent."""

import os
import signal

import msgspec
import pytest

from supervision.fork_server.disposables import Disposables
from supervision.fork_server.loop import Loop
from supervision.protocol import DisposableResult, RunDisposable

pytestmark = pytest.mark.tree


def test_it_is_answered_counted_capped_and_reaped_when_it_ends_after_all() -> None:
    loop, killed, answers = Loop(), [], []
    disposables = Disposables(loop, list, kill=lambda pid, _: killed.append(pid), most_abandoned=1)

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
    disposables.run("a", hanging, answers.append)
    assert answers[1].kind == "Refused"
    (pid,) = killed
    os.kill(pid, signal.SIGKILL)
    reaped, status = os.waitpid(pid, 0)
    assert disposables.reaped(reaped, status)
    assert disposables.abandoned == 0
    assert len(answers) == 2
