"""The supervisor: an actor that creates, watches, restarts and stops its children.

It creates them with Thespian's `createActor` and gets `ChildActorExited` when they end. The fork server stops them on
its order: it sends `ActorExitRequest`, and kills after the budget.

`transitions.py` decides; this module performs the orders. It never waits for a child: each start has a deadline, and
the siblings are supervised meanwhile. It stores nothing: when it is restarted itself, the fork server has ended its
subtree, and it starts its children again.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Mapping

from ..actor import Actor, Address, AskError, ChildExited, Timer, on
from ..process_messages import DiedOnInput, ReachedMaxRestartIntensity, Started, Stop
from ..protocol import FORK_SERVER
from ..spec import ChildSpec, Policy, SetPolicies, full_name
from .children import Ending, SupervisorState, initial_state, wake_at, with_policies
from .policy_rules import wrong_policies
from .transitions import Create, Event, Finish, Order, StopRequested, Tick, decide


class Supervisor(Actor):
    """Supervises the children of `spec`, each by its policy. `policies`: of its whole subtree, by full name."""

    def __init__(
        self,
        spec: ChildSpec,
        policies: Mapping[str, Policy],
        clock: Callable[[], float] = time.monotonic,
        rng: Callable[[], float] = random.random,
    ) -> None:
        super().__init__()
        self._spec, self._policies, self._clock, self._rng = spec, policies, clock, rng
        self._state: SupervisorState
        self._timer: Timer | None = None
        self._finished: asyncio.Event

    async def on_start(self) -> None:
        self._finished = asyncio.Event()
        self._classes = {full_name(self.name, child): child.class_name for child in self._spec.children}
        self._state = initial_state(self._spec, self.name, self._policies)
        # after on_start, because the fork server's answers go to this name, which now refers to this incarnation
        self.after(0.0, lambda: self._step(Tick()))

    async def on_stop(self) -> None:
        self._step(StopRequested())
        await self._finished.wait()

    @on(Started)
    def on_started(self, message: Started, sender: Address) -> None:
        if sender.name != FORK_SERVER:
            return
        self.log.info("in service: %s, incarnation %d, pid %d", message.name, message.incarnation, message.pid)
        self._step(message)

    @on(ChildExited)
    def on_exited(self, message: ChildExited, sender: Address) -> None:
        self._step(message.exited)

    @on(DiedOnInput)
    def on_died_on_input(self, message: DiedOnInput, sender: Address) -> None:
        if sender.name == FORK_SERVER:
            self._step(message)

    @on(SetPolicies)
    def on_set_policies(self, message: SetPolicies, sender: Address) -> None:
        wrong = "only the fork server sets them" if sender.name != FORK_SERVER else wrong_policies(message.policies)
        if wrong:
            self.log.error("%s sent an invalid supervision policy: %s", sender.name, wrong)
            return
        self._policies = {**self._policies, **message.policies}
        self._state = with_policies(self._state, self._spec, self.name, self._policies)
        self._step(Tick())

    def _step(self, event: Event) -> None:
        self._state, orders = decide(self._state, event, self._clock(), self._rng)
        for order in orders:
            self._perform(order)
        self._arm()

    def _perform(self, order: Order) -> None:
        if isinstance(order, Create):
            self.createActor(self._classes[order.name], globalName=order.name)
        elif isinstance(order, Stop):
            self.tell(FORK_SERVER, order)
        elif not self._finished.is_set():
            self._finished.set()
            self.start_task(self._leave(order), "leave")

    def _arm(self) -> None:
        """Set the timer for the time that `decide` asks for. If it fires early, nothing is due."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        wake = wake_at(self._state)
        if wake is not None and not self._finished.is_set():
            self._timer = self.after(max(0.0, wake - self._clock()), lambda: self._step(Tick()))

    async def _leave(self, finish: Finish) -> None:
        """All children have ended. On an orderly stop on_stop returns, else the process ends with the exit code."""
        if self._state.ending is Ending.STOPPED:
            return
        if finish.reason:
            self.log.error("giving up: %s", finish.reason)
            try:
                # a question, so that the reason is in the incident record before this process ends
                await self.ask(FORK_SERVER, ReachedMaxRestartIntensity(finish.reason), timeout=1.0)
            except AskError as error:
                self.log.warning("the fork server did not take the reason: %s", error)
        self.leave(finish.status)

    def leave(self, status: int) -> None:
        """End this process. Raises SystemExit, which the process's loop lets through."""
        raise SystemExit(status)
