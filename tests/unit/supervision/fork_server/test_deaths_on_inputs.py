"""Deaths that the quarantine bounds: the supervisor counts none of them."""

from __future__ import annotations

from supervision.process_messages import DiedOnInput, Exited, Started
from supervision.spec import Policy
from supervision.supervisor.children import Child, ChildPhase, Ending, SupervisorState
from supervision.supervisor.transitions import Event, Tick, decide


class Supervised:
    """A supervisor of one child, which it starts again at once after each failure."""

    def __init__(self, max_restarts: int, total_restarts: int = 0) -> None:
        policy = Policy(max_restarts=max_restarts, period_seconds=30, backoff_seconds=1.0)
        own = Policy(total_restarts=total_restarts)
        self.state = SupervisorState(policy=own, children=(Child(name="a", policy=policy, budget=5.0),))
        self.now, self.incarnation = 100.0, 0
        self.say(Tick())

    def say(self, event: Event) -> None:
        self.state, _ = decide(self.state, event, self.now, lambda: 0.0)

    def dies(self, *, on_input: bool) -> None:
        self.incarnation += 1
        self.say(Started("a", self.incarnation, 1, 0.01))
        self.say(Exited("a", self.incarnation, 1, 9, "signal"))
        if on_input:
            self.say(DiedOnInput("a"))

    @property
    def starts_at_once(self) -> bool:
        return self.state.children[0].phase is ChildPhase.STARTING

    @property
    def gave_up(self) -> bool:
        return self.state.ending is Ending.ESCALATED


def test_deaths_on_quarantined_inputs_neither_add_up_nor_lengthen_pauses() -> None:
    supervised = Supervised(max_restarts=1, total_restarts=1)
    for _ in range(20):
        supervised.dies(on_input=True)
        assert supervised.starts_at_once
        assert not supervised.gave_up


def test_other_deaths_in_between_count() -> None:
    supervised = Supervised(max_restarts=1)
    supervised.dies(on_input=True)
    supervised.dies(on_input=False)
    assert not supervised.gave_up
    supervised.now += 2.0
    supervised.say(Tick())
    supervised.dies(on_input=False)
    assert supervised.gave_up


def test_an_actor_that_has_not_failed_has_no_excuse() -> None:
    supervised = Supervised(max_restarts=0)
    supervised.say(DiedOnInput("a"))
    supervised.say(DiedOnInput("nobody"))
    supervised.dies(on_input=False)
    assert supervised.gave_up
