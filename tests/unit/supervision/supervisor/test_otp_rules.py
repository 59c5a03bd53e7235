"""A supervisor beside a model of OTP's, over random histories.

`OtpSupervisor` is written from OTP's documentation (Supervisor Behaviour in the Design Principles, and the reference of
`supervisor`), and from nothing of ours. Both see the same exits at the same times, start and stop children at once,
and have no backoff, which OTP has not. Then they do the same, in the same order.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supervision.process_messages import EXIT_ESCALATED, Exited, Started, Stop
from supervision.spec import Policy
from supervision.supervisor.children import Child, Ending, SupervisorState
from supervision.supervisor.transitions import Create, Finish, StopRequested, Tick, decide
from tests.support.examples import examples

NAMES = "abcde"
NORMAL, EXIT_1, SIGKILLED = 0, 1 << 8, 9


@dataclass
class OtpChild:
    """Restart types: a permanent child is always restarted, a temporary one never, a transient one if it ends
    abnormally."""

    name: str
    restart: str
    significant: bool
    alive: bool = False


@dataclass
class OtpSupervisor:
    """What OTP's supervisor does when a child has ended."""

    children: list[OtpChild]
    strategy: str
    intensity: int
    period: float
    auto_shutdown: str
    restarts: list[float] = field(default_factory=list)
    trace: list[str] = field(default_factory=list)
    ended: str = ""

    def start(self, children: list[OtpChild]) -> None:
        """In the order of the list."""
        for child in children:
            child.alive = True
            self.trace.append(f"+{child.name}")

    def stop(self, children: list[OtpChild]) -> None:
        """In reverse order. A temporary child is removed, also when the death of a sibling ends it."""
        for child in reversed(children):
            if child.alive:
                child.alive = False
                self.trace.append(f"-{child.name}")
            if child.restart == "temporary":
                self.children.remove(child)

    def end(self, why: str) -> None:
        self.stop(list(self.children))
        self.ended = why

    def exited(self, name: str, normal: bool, now: float) -> None:
        child = next(one for one in self.children if one.name == name)
        child.alive = False
        if child.restart == "permanent" or (child.restart == "transient" and not normal):
            self.restart(child, now)
            return
        if child.restart == "temporary":
            self.children.remove(child)
        significant = [one for one in self.children if one.significant and one.alive]
        if child.significant and (
            self.auto_shutdown == "any_significant" or (self.auto_shutdown == "all_significant" and not significant)
        ):
            self.end("done")

    def restart(self, child: OtpChild, now: float) -> None:
        """More than `intensity` restarts within `period` seconds: it terminates all its children, and then itself."""
        self.restarts = [then for then in self.restarts if now <= then + self.period] + [now]
        if len(self.restarts) > self.intensity:
            self.end("gave up")
            return
        at = self.children.index(child)
        group = {"one_for_one": [child], "one_for_all": self.children, "rest_for_one": self.children[at:]}
        concerned = list(group[self.strategy])
        self.stop([one for one in concerned if one is not child])
        self.start([one for one in concerned if one in self.children])


class Ours:
    """Our supervisor, and a fork server that carries out one order after the other at once."""

    def __init__(self, state: SupervisorState) -> None:
        self.state, self.now = state, 0.0
        self.trace: list[str] = []
        self.incarnations = dict.fromkeys(NAMES, 0)
        self.alive: set[str] = set()
        self.finished = False

    def say(self, event: Any) -> None:
        events: deque[Any] = deque([event])
        while events:
            self.state, orders = decide(self.state, events.popleft(), self.now, lambda: 0.0)
            events.extend(answer for order in orders if (answer := self._carry_out(order)) is not None)

    def _carry_out(self, order: Create | Stop | Finish) -> Started | Exited | None:
        if isinstance(order, Finish):
            self.finished = True
            return None
        name = order.name
        if isinstance(order, Create):
            self.incarnations[name] += 1
            self.alive.add(name)
            self.trace.append(f"+{name}")
            return Started(name, self.incarnations[name], 7, 0.0)
        self.alive.remove(name)
        self.trace.append(f"-{name}")
        return Exited(name, self.incarnations[name], 7, NORMAL, "stopped")

    def exits(self, name: str, status: int) -> None:
        self.alive.remove(name)
        self.say(Exited(name, self.incarnations[name], 7, status, "exit" if status != SIGKILLED else "signal"))

    @property
    def ended(self) -> str:
        assert self.finished == (self.state.ending is not Ending.NO)
        return {Ending.NO: "", Ending.DONE: "done", Ending.ESCALATED: "gave up", Ending.STOPPED: "stopped"}[
            self.state.ending
        ]


def both(
    kinds: list[tuple[str, bool]], strategy: str, intensity: int, period: float, auto_shutdown: str
) -> tuple[OtpSupervisor, Ours]:
    """The two, with the same children."""
    # OTP counts the restarts of all children together: total_restarts here, of which 0 means no limit
    own = Policy(strategy=strategy, total_restarts=intensity, total_period_seconds=period, auto_shutdown=auto_shutdown)  # type: ignore[arg-type]
    most = {"max_restarts": 1000 if intensity else 0, "backoff_seconds": 0.0, "backoff_max_seconds": 0.0}
    children, theirs = [], []
    for name, (restart, significant) in zip(NAMES, kinds, strict=True):
        # as OTP's: significant children are not permanent, and there are none without auto_shutdown
        counts = significant and restart != "permanent" and auto_shutdown != "none"
        policy = msgspec.structs.replace(Policy(), restart=restart, significant=counts, **most)
        children.append(Child(name=name, policy=policy, budget=5.0))
        theirs.append(OtpChild(name, restart, counts))
    return (
        OtpSupervisor(theirs, strategy, intensity, period, auto_shutdown),
        Ours(SupervisorState(policy=own, children=tuple(children))),
    )


KINDS = st.lists(
    st.tuples(st.sampled_from(["permanent", "transient", "temporary"]), st.booleans()),
    min_size=len(NAMES),
    max_size=len(NAMES),
)
HISTORY = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from([NORMAL, EXIT_1, SIGKILLED]), st.sampled_from([0, 1, 3, 5, 6])),
    max_size=30,
)


@settings(max_examples=examples(500), deadline=None)
@given(
    KINDS,
    st.sampled_from(["one_for_one", "one_for_all", "rest_for_one"]),
    st.integers(0, 4),
    st.sampled_from(["none", "any_significant", "all_significant"]),
    HISTORY,
    st.booleans(),
)
def test_the_supervisor_acts_as_that_of_otp_in_the_same_order(
    kinds: list[tuple[str, bool]],
    strategy: str,
    intensity: int,
    auto_shutdown: str,
    history: list[tuple[str, int, int]],
    stop: bool,
) -> None:
    otp, ours = both(kinds, strategy, intensity, 5.0, auto_shutdown)
    otp.start(otp.children)
    ours.say(Tick())
    for name, status, pause in history:
        ours.now += pause
        if name in ours.alive:
            otp.exited(name, status == NORMAL, ours.now)
            ours.exits(name, status)
        assert (ours.trace, ours.ended) == (otp.trace, otp.ended)
        assert ours.alive == {child.name for child in otp.children if child.alive}
    if stop and not otp.ended:
        otp.end("stopped")
        ours.say(StopRequested())
        assert (ours.trace, ours.ended) == (otp.trace, otp.ended)


@pytest.mark.parametrize("intensity", [0, 1, 3])
def test_a_supervisor_gives_up_at_the_first_exit_more_than_its_intensity(intensity: int) -> None:
    otp, ours = both([("permanent", False)] * len(NAMES), "one_for_one", intensity, 5.0, "none")
    otp.start(otp.children)
    ours.say(Tick())
    for number in range(1, intensity + 2):
        assert ours.ended == otp.ended == ""
        otp.exited(NAMES[number], False, ours.now)
        ours.exits(NAMES[number], SIGKILLED)
    assert ours.ended == otp.ended == "gave up"
    assert ours.trace == otp.trace
    assert not ours.alive


def alone(**policy: Any) -> Ours:
    """Children a to e of a supervisor with the engine's defaults, in service, with these settings of each child."""
    found = Ours(
        SupervisorState(
            policy=Policy(),
            children=tuple(Child(name=name, policy=Policy(**policy), budget=5.0) for name in NAMES),
        )
    )
    found.say(Tick())
    return found


# -- where it is not OTP's: docs/supervision.md has the reasons -------------------------------------------------------
def test_the_restarts_of_each_child_are_counted_alone_unless_a_total_is_set() -> None:
    ours = alone(max_restarts=1, period_seconds=30.0)
    for name in NAMES:
        ours.exits(name, SIGKILLED)
    assert (ours.ended, ours.alive) == ("", set(NAMES))
    ours.exits("c", SIGKILLED)
    assert ours.ended == "gave up"


def test_a_supervisor_that_gave_up_is_started_again_also_where_it_is_transient() -> None:
    ours = alone(restart="transient")
    ours.exits("b", EXIT_ESCALATED << 8)
    assert ours.alive == set(NAMES)


@pytest.mark.parametrize("restart", ["permanent", "transient"])
def test_a_child_that_fails_in_its_first_start_is_started_again_and_its_siblings_stay(restart: str) -> None:
    children = tuple(Child(name=name, policy=Policy(restart=restart), budget=5.0) for name in "ab")  # type: ignore[arg-type]
    state, orders = decide(SupervisorState(policy=Policy(), children=children), Tick(), 0.0, lambda: 0.0)
    assert orders == (Create("a"), Create("b"))
    state, orders = decide(state, Started("b", 1, 7, 0.1), 0.1, lambda: 0.0)
    state, orders = decide(state, Exited("a", 1, 7, EXIT_1, "exit"), 0.2, lambda: 0.0)
    assert orders == (Create("a"),)
    assert state.ending is Ending.NO


def test_a_stop_does_not_wait_for_a_child_that_starts() -> None:
    children = (Child(name="a", policy=Policy(), budget=5.0),)
    state, _ = decide(SupervisorState(policy=Policy(), children=children), Tick(), 0.0, lambda: 0.0)
    state, orders = decide(state, StopRequested(), 0.1, lambda: 0.0)
    assert orders == (Stop("a", 5.0, "stopped"),)
