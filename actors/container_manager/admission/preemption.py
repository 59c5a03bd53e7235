"""Makes room for critical pods: has the eviction manager end other pods, and waits until they are gone. Meanwhile the
room is reserved for the critical pod.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import msgspec
from msgspec.structs import replace

from actors.eviction_manager.messages import EVICTION_MANAGER, PreemptPods
from actors.shared.admission.checks import refusal
from actors.shared.admission.checks.resources import shortages
from actors.shared.admission.preemption import victims, without
from actors.shared.admission.request import Demand, NodeState, PodAdmitAttributes, Refusal, usage_of
from supervision.actor import Actor

from .admission_gate import AdmissionGate
from .ledger import Ledger

WAIT_SECONDS: Final = 8.0
"""Seconds that one admission waits for victims to end; then its worker asks again."""
POLL_SECONDS: Final = 0.1
RESEND_SECONDS: Final = 1.0
KEEP_SECONDS: Final = 60.0
"""Seconds that room is reserved for a pod whose worker does not ask again."""


class StillEnding(Exception):
    """The victims have not ended yet."""


class Reservation(msgspec.Struct, frozen=True):
    """Room that is being made for one critical pod."""

    demand: Demand
    victims: frozenset[str]
    """UIDs of the pods that end for it."""


class Preemption:
    """The pods that wait for room. The next incarnation learns of them when their workers ask again. The eviction
    manager knows which pods end, the ledger which are counted."""

    def __init__(self, actor: Actor, ledger: Ledger, gate: AdmissionGate) -> None:
        self._actor, self._ledger, self._gate = actor, ledger, gate
        self._reservations: dict[str, Reservation] = {}

    def afterwards(self, node: NodeState, uid: str, *, resize: bool = False) -> NodeState:
        """The node for this pod once the room for all others is made. The pod's own resources count only for a
        `resize`, which asks for more than these."""
        others = [one for one in self._reservations.values() if one.demand.uid != uid]
        if not others:
            return node
        ending = frozenset[str]().union(*(one.victims for one in others))
        left = [one for one in self._ledger.demands() if one.uid not in ending and (resize or one.uid != uid)]
        return replace(node, usage=usage_of([*left, *(one.demand for one in others)]))

    def forget(self, uid: str) -> None:
        """Drop the reservation for this pod: it has the room, or no worker waits for it."""
        self._reservations.pop(uid, None)

    async def make_room(
        self, candidate: PodAdmitAttributes, state: Callable[[], NodeState], withdrawn: Callable[[], bool]
    ) -> Refusal | None:
        """Make room for a critical pod. Returns why it may not run; None once there is room. Raises StillEnding, also
        if the pod is withdrawn meanwhile."""
        uid = candidate.demand.uid
        looks = round(WAIT_SECONDS / POLL_SECONDS)
        for look in range(looks):
            if withdrawn():
                raise StillEnding
            node = state()
            later = self.afterwards(node, uid)
            refused = refusal(candidate, later) or refusal(candidate, node)
            if refused is None:
                self.forget(uid)
                return None
            shortage = shortages(candidate.demand, later)
            other = refusal(candidate, node, of_resources=False)
            if other is not None or not (shortage or shortages(candidate.demand, node)):
                self.forget(uid)
                return other or refused
            again = look % round(RESEND_SECONDS / POLL_SECONDS) == 0
            if shortage and again and (refused := self._preempt(candidate, later)):
                self.forget(uid)
                return refused
            await self._actor.pause(POLL_SECONDS)
        self._forget_later(uid)
        raise StillEnding

    def _preempt(self, candidate: PodAdmitAttributes, node: NodeState) -> Refusal | None:
        """Order the victims to end, in addition to pods that already end. `node`: as it is once the room for others is
        made."""
        uid = candidate.demand.uid
        taken = frozenset[str]().union(*(one.victims for other, one in self._reservations.items() if other != uid))
        running = [one for one in self._ledger.demands() if one.uid not in {uid, *taken}]
        ending = [one for one in running if self._gate.evicted(one.uid)]
        shortage = shortages(candidate.demand, node)
        if not without(shortage, ending):
            self._reserve(candidate.demand, ending)
            return None
        found = victims(candidate.demand, node, running)
        if isinstance(found, Refusal):
            return found
        self._reserve(candidate.demand, found)
        uids = [one.uid for one in found]
        self._actor.log.info("pods end to admit critical pod %s: %s", uid, ", ".join(uids))
        self._actor.tell(EVICTION_MANAGER, PreemptPods(uids, next(iter(shortage))), deadline=RESEND_SECONDS)
        return None

    def _reserve(self, demand: Demand, ending: Iterable[Demand]) -> None:
        self._reservations[demand.uid] = Reservation(demand, frozenset(one.uid for one in ending))

    def _forget_later(self, uid: str) -> None:
        """Drop the reservation unless the worker has asked again, which renews or ends it."""
        kept = self._reservations.get(uid)

        def end() -> None:
            if self._reservations.get(uid) is kept:
                self.forget(uid)

        self._actor.after(KEEP_SECONDS, end)
