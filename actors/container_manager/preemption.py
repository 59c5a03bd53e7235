"""Makes room for critical pods: has the eviction manager end others, and waits until they are gone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from actors.eviction_manager.messages import EVICTION_MANAGER, PreemptPods
from actors.shared.admission.checks import refusal
from actors.shared.admission.preemption import victims, without
from actors.shared.admission.request import Candidate, NodeState, Refusal
from actors.shared.admission.resources import shortages
from supervision.actor import Actor

from .eviction_admission import EvictionAdmission
from .ledger import Ledger

WAIT_SECONDS: Final = 8.0
"""The longest that one admission waits for victims to end; then its worker asks again."""
LOOK_SECONDS: Final = 0.1
RETELL_SECONDS: Final = 1.0


class StillEnding(Exception):
    """The victims have not ended yet."""


class Preemption:
    """It remembers nothing: who ends is known from the eviction manager, who is counted from the ledger."""

    def __init__(self, actor: Actor, ledger: Ledger, evictions: EvictionAdmission) -> None:
        self._actor, self._ledger, self._evictions = actor, ledger, evictions

    async def make_room(self, candidate: Candidate, state: Callable[[], NodeState]) -> Refusal | None:
        """For a critical pod. Why it may not run; None once there is room. Raises StillEnding."""
        looks = round(WAIT_SECONDS / LOOK_SECONDS)
        for look in range(looks):
            node = state()
            refused = refusal(candidate, node)
            if refused is None:
                return None
            lacking = shortages(candidate.demand, node)
            other = refusal(candidate, node, of_resources=False)
            if other is not None or not lacking:
                return other or refused
            if look % round(RETELL_SECONDS / LOOK_SECONDS) == 0 and (refused := self._preempt(candidate, node)):
                return refused
            await self._actor.pause(LOOK_SECONDS)
        raise StillEnding

    def _preempt(self, candidate: Candidate, node: NodeState) -> Refusal | None:
        """Order who is to end, beside those that end already."""
        running = self._ledger.demands()
        ending = [one for one in running if self._evictions.ends(one.uid)]
        lacking = shortages(candidate.demand, node)
        if not without(lacking, ending):
            return None
        found = victims(candidate.demand, node, running)
        if isinstance(found, Refusal):
            return found
        uids = [one.uid for one in found]
        self._actor.log.info("pods end to admit critical pod %s: %s", candidate.demand.uid, ", ".join(uids))
        self._actor.tell(EVICTION_MANAGER, PreemptPods(uids, next(iter(lacking))), deadline=RETELL_SECONDS)
        return None
