"""A supervisor's decisions with a world that obeys them: no process, no clock, no randomness of its own."""

from __future__ import annotations

from typing import Any

import msgspec

from supervision.process_messages import EXIT_EXCEPTION, Exited, Started, Stop
from supervision.spec import Policy
from supervision.supervisor.children import Child, SupervisorState, wake_at
from supervision.supervisor.transitions import Create, Event, Finish, Tick, decide

EXIT_1 = 1 << 8
SIGKILLED = 9


def make(names: str = "abcd", own: dict[str, Any] | None = None, **policy: Any) -> SupervisorState:
    children = tuple(Child(name=name, policy=Policy(**policy), budget=5.0) for name in names)
    return SupervisorState(policy=Policy(**(own or {})), children=children)


def special(state: SupervisorState, name: str, **policy: Any) -> SupervisorState:
    child = state.child(name)
    assert child is not None
    changed = msgspec.structs.replace(child.policy, **policy)
    return state.replace(msgspec.structs.replace(child, policy=changed))


class ObedientWorld:
    """Obeys orders as the fork server does: starts and stops processes at once, unless told that one is stubborn."""

    def __init__(self, state: SupervisorState, start: float = 100.0) -> None:
        self.state, self.now = state, start
        self.orders: list[Create | Stop | Finish] = []
        self.incarnations: dict[str, int] = {}
        self.living: dict[str, int] = {}
        self.hung_in_start: set[str] = set()
        self.no_room_for: set[str] = set()
        self.ignores_stop: set[str] = set()
        self.obey = True

    def start(self) -> ObedientWorld:
        self.say(Tick())
        return self

    def say(self, event: Event) -> None:
        self.state, orders = decide(self.state, event, self.now, lambda: 0.0)
        self.orders += orders
        if self.obey:
            for order in orders:
                self.carry_out(order)

    def carry_out(self, order: Create | Stop | Finish) -> None:
        if isinstance(order, Create):
            assert order.name not in self.living, f"{order.name} started twice"
            incarnation = self.incarnations[order.name] = self.incarnations.get(order.name, 0) + 1
            if order.name in self.no_room_for:
                self.say(Exited(order.name, incarnation, 0, EXIT_EXCEPTION << 8, "exit", "", "fork: no process left"))
                return
            self.living[order.name] = incarnation
            if order.name not in self.hung_in_start:
                self.say(Started(order.name, incarnation, 1000 + incarnation, 0.01))
        elif isinstance(order, Stop):
            if order.budget > 0 and order.name in self.ignores_stop:
                return
            self.exit(order.name, SIGKILLED if order.budget == 0 else 0, order.cause)

    def exit(self, name: str, status: int = EXIT_1, cause: Any = "exit") -> None:
        incarnation = self.living.pop(name, self.incarnations.get(name, 0))
        self.say(Exited(name, incarnation, 1, status, cause))

    def pass_time(self, seconds: float) -> None:
        """Let time pass, waking the supervisor exactly when it asks to be."""
        end = self.now + seconds
        while (wake := wake_at(self.state)) is not None and wake <= end:
            self.now = max(self.now, wake)
            self.say(Tick())
        self.now = end

    def take_orders(self) -> list[str]:
        """What was ordered since last asked, as `+a` and `-b`."""
        signs = []
        for order in self.orders:
            if isinstance(order, Finish):
                signs.append(f"finish {order.status}")
            else:
                signs.append(("+" if isinstance(order, Create) else "-") + order.name)
        self.orders = []
        return signs

    def phases(self) -> str:
        return " ".join(f"{child.name}={child.phase.value}" for child in self.state.children)
