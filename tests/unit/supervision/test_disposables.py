"""Which order starts next, of whom and when; the processes are made up."""

import os
from collections.abc import Callable, Iterator

import pytest

from supervision.disposable_calls import order_of
from supervision.errors import DisposableError
from supervision.fork_server import disposable_process, disposables
from supervision.fork_server.disposables import (
    ALWAYS_ALLOWED,
    MOST_ABANDONED,
    MOST_AT_ONCE,
    MOST_OF_ONE_OWNER,
    Disposables,
)
from supervision.fork_server.loop import Loop, ScheduledCall
from supervision.fork_server.oom_kills import OomKills
from supervision.process_messages import DISPOSABLE_GRACE_SECONDS, DisposableResult, RunDisposable


class Turns(Loop):
    """A loop whose turns the test begins."""

    def __init__(self) -> None:
        super().__init__()
        self._due: list[ScheduledCall] = []
        self._later: list[ScheduledCall] = []

    def call_later(self, seconds: float, call: Callable[[], None]) -> ScheduledCall:
        scheduled = ScheduledCall(call)
        (self._later if seconds else self._due).append(scheduled)
        return scheduled

    def let_time_pass(self) -> None:
        """All that is due later, now; what comes of it is due later again."""
        self._due, self._later = [*self._due, *self._later], []
        self.turn()

    def turn(self) -> None:
        due, self._due = self._due, []
        for scheduled in due:
            if scheduled.call is not None:
                scheduled.call()


class Node:
    """Disposables that fork nothing: a process runs until it is reaped. Pids count from 1."""

    def __init__(self) -> None:
        self.loop, self.now = Turns(), 100.0
        self.disposables = Disposables(self.loop, list, OomKills(), kill=lambda *_: None)
        self.pids: list[int] = []
        self.answers: list[DisposableResult] = []

    def fork(self, *_: object) -> int:
        self.pids.append(len(self.pids) + 1)
        return self.pids[-1]

    def order(self, owner: str, function: str, deadline: float = 60.0) -> None:
        order = RunDisposable(function, b"", deadline)
        self.disposables.run(owner, order, self.answers.append)

    def ended(self, pid: int) -> None:
        assert self.disposables.reaped(pid, 0)

    def hang(self) -> None:
        """What runs is killed at its deadline, and abandoned, as it does not end."""
        self.loop.let_time_pass()
        self.loop.let_time_pass()

    def refused(self) -> int:
        return sum(answer.kind == "Refused" for answer in self.answers)

    def run_one_by_one(self) -> list[str]:
        """End each process; the functions in the order of their start."""
        for pid in self.pids:  # it grows
            self.ended(pid)
            self.loop.turn()
        return [answer.text.split()[0] for answer in self.answers]


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    made = Node()
    monkeypatch.setattr(disposable_process, "fork", made.fork)
    monkeypatch.setattr(disposables, "MOST_BUSY", 1)
    monkeypatch.setattr("time.monotonic", lambda: made.now)
    yield made
    for fd in made.disposables.fds():
        os.close(fd)


def test_a_reaping_loop_ends_while_a_thousand_orders_wait(node: Node) -> None:
    for number in range(1000):
        node.order("volume_manager", str(number))
    for pid in node.pids:  # as the fork server's reaper, where each process has ended before the next is asked for
        node.ended(pid)
    assert node.pids == [1]
    node.loop.turn()
    assert node.pids == [1, 2]


def test_actors_take_turns(node: Node) -> None:
    for number in range(4):
        node.order("volume_manager", f"v{number}")
    node.order("eviction_manager", "e0")
    node.order("eviction_manager", "e1")
    node.order("image_manager", "i0")
    assert node.run_one_by_one() == ["v0", "v1", "e0", "i0", "v2", "e1", "v3"]


def test_orders_of_one_actor_that_hang_leave_places_for_the_others(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disposables, "MOST_BUSY", 1000)
    for number in range(2 * MOST_AT_ONCE):
        node.order("volume_manager", str(number))
    assert node.disposables.running == MOST_OF_ONE_OWNER < MOST_AT_ONCE
    node.order("eviction_manager", "e0")
    assert node.disposables.running == MOST_OF_ONE_OWNER + 1
    node.ended(1)
    node.loop.turn()
    assert node.disposables.running == MOST_OF_ONE_OWNER + 1


def test_an_order_is_refused_when_its_actor_has_given_up(node: Node) -> None:
    for function in ("runs", "late"):
        node.order("volume_manager", function, deadline=5.0)
    node.order("volume_manager", "patient", deadline=50.0)
    node.now += 5.0 + DISPOSABLE_GRACE_SECONDS + 0.1
    node.ended(1)
    node.loop.turn()
    (_, late) = node.answers
    assert (late.kind, late.text) == ("Refused", "late waited too long")
    assert node.pids == [1, 2]


def test_waiting_disposables_end_with_their_actor(node: Node) -> None:
    for owner in ("volume_manager", "volume_manager", "eviction_manager"):
        node.order(owner, owner)
    node.disposables.forget("volume_manager")
    assert node.run_one_by_one() == ["eviction_manager"]


def test_an_actor_whose_orders_hang_gets_no_more_and_all_others_continue(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disposables, "MOST_BUSY", 1000)
    for number in range(2 * MOST_OF_ONE_OWNER):  # the second half waits for places
        node.order("volume_manager", str(number))
    node.hang()
    assert node.disposables.abandoned == MOST_OF_ONE_OWNER
    assert node.refused() == MOST_OF_ONE_OWNER
    node.order("volume_manager", "one more")
    assert node.answers[-1].text == (
        f"{MOST_OF_ONE_OWNER} disposable processes hang already, {MOST_OF_ONE_OWNER} of them of volume_manager"
    )
    node.order("eviction_manager", "e0")
    assert node.disposables.running == 1
    node.ended(1)  # one of the hung calls has come back after all
    node.order("volume_manager", "again")
    assert node.disposables.running == 2


def test_an_actor_is_not_refused_for_the_hangs_of_others(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disposables, "MOST_BUSY", 1000)
    share, owners = MOST_OF_ONE_OWNER - 1, 10
    for owner in range(owners):
        for number in range(share):
            node.order(f"owner{owner}", f"{owner} {number}")
        node.hang()
    bound = MOST_ABANDONED + MOST_AT_ONCE + owners * ALWAYS_ALLOWED
    assert MOST_ABANDONED <= node.disposables.abandoned <= bound
    for number in range(2 * ALWAYS_ALLOWED):
        node.order("eviction_manager", f"e{number}")
        node.hang()
    own = node.answers[-2 * ALWAYS_ALLOWED :]
    assert [answer.kind for answer in own] == [""] * ALWAYS_ALLOWED + ["Refused"] * ALWAYS_ALLOWED
    assert node.disposables.abandoned <= bound + ALWAYS_ALLOWED


def test_an_argument_that_is_not_utf8_is_the_failure_of_its_call() -> None:
    with pytest.raises(DisposableError, match="/m/\N{REPLACEMENT CHARACTER} is not UTF-8"):
        order_of("a:b", {"path": os.fsdecode(b"/m/\xff")}, 1.0)
