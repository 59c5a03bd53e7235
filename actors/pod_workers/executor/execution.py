"""One pod while effects are performed for it: its state, which changes by events only, and how effects reach others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

from actors.api_clients.messages import EVENT_CLIENT
from actors.pod_workers.containers.host_addresses import node_ips
from actors.pod_workers.kubernetes_events import pod_event
from actors.pod_workers.pod.event import PodEvent
from actors.pod_workers.pod.observation import observed, probed, same
from actors.pod_workers.pod.results import Looked, TryFailed
from actors.pod_workers.pod.runtime import with_messages
from actors.pod_workers.pod.state import PodState
from actors.prober.messages import PROBER, ProbedPod
from actors.shared.cri.looking import look, look_at
from actors.shared.cri.model import PodRuntime
from actors.shared.kube.pod import Pod
from actors.status_manager.messages import STATUS_MANAGER, PodObserved
from supervision.addresses import ActorName
from supervision.message import Message, Question

from .hooks import HookFailed
from .services import Services

T = TypeVar("T")
R = TypeVar("R", bound=Message)


class EffectInterrupted(Exception):
    """The pod is to end, or sooner than it was to: what the effect waits for does not matter any more."""


class Execution:
    """Of one pod."""

    def __init__(self, services: Services, state: PodState) -> None:
        self.services, self.state = services, state
        self.news = asyncio.Event()
        """Something happened that the pod worker has not decided on yet."""
        self._watches: list[tuple[Callable[[PodState], bool], asyncio.Event]] = []
        self._observed: PodObserved | None = None
        self._probed: ProbedPod | None = None

    # -- the pod --------------------------------------------------------------------------------------------------
    def report(self, event: PodEvent) -> None:
        """What came of an effect."""
        self.proceed(event.apply(self.state))

    def proceed(self, state: PodState) -> None:
        """What is known of the pod from now on."""
        before, self.state = self.state, state
        if state.retry.failures > before.retry.failures:
            due = (state.due or 0.0) - self.services.clock()
            self.services.actor.log.info("pod %s: next try within %.1f s: %s", state.label, due, state.retry.trouble)
        for condition, happened in self._watches:
            if condition(state):
                happened.set()
        if state.phase is not before.phase:
            self.publish()

    def failed(self, why: str) -> None:
        """It is tried again later."""
        self.report(TryFailed(why, self.services.clock()))

    @property
    def pod(self) -> Pod:
        """As it is run. Raises EffectInterrupted for one that only the runtime knows."""
        if self.state.wanted.pod is None:
            raise EffectInterrupted
        return self.state.wanted.pod

    # -- the runtime ----------------------------------------------------------------------------------------------
    async def look(self) -> PodRuntime:
        """All that the runtime has of the pod, asked now. Raises CriError."""
        return self._looked(await look(self.services.client, self.state.uid))

    async def look_again(self) -> PodRuntime:
        """The same after what this pod worker did by itself, and nothing went wrong: nobody else makes containers of
        the pod, so all ids are known, and need not be listed. Raises CriError."""
        view = self.state.view
        known = view.runtime
        if view.stale or known is None:
            return await self.look()
        sandboxes = dict.fromkeys([sandbox.id for sandbox in known.sandboxes] + list(view.sandboxes))
        if not sandboxes.keys() >= set(view.containers.values()):
            return await self.look()  # the PLEG has told what contradicts it meanwhile
        containers = {container.id: container.sandbox_id for container in known.containers} | view.containers
        return self._looked(await look_at(self.services.client, self.state.uid, list(sandboxes), containers))

    def _looked(self, runtime: PodRuntime) -> PodRuntime:
        self.report(Looked(self.complete(runtime)))
        return self.state.runtime or runtime

    def complete(self, runtime: PodRuntime) -> PodRuntime:
        """The same with the termination messages of its containers, where the pod is known."""
        pod, agent = self.state.wanted.pod, self.services.agent
        if pod is None:
            return runtime
        return with_messages(runtime, pod, agent.pod_dir(runtime.uid), agent.pod_logs_dir)

    async def pod_ip(self) -> str:
        """Where a hook without a host is called: on the host's network the node has the pod's address. Raises
        HookFailed."""
        if self.state.sandbox_ip:
            return self.state.sandbox_ip
        if not self.state.on_host_network:
            raise HookFailed("failed to find networking container")  # the node's address would be somebody else's
        ips = await node_ips(self.services.actor, self.services.agent)
        return ips[0] if ips else "127.0.0.1"

    # -- other actors -----------------------------------------------------------------------------------------------
    async def ask(self, name: ActorName, question: Question[R], seconds: float) -> R:
        """Raises AskError."""
        return await self.services.actor.ask(name, question, timeout=seconds)

    def announce(self, kind: str, reason: str, text: str, container: str = "") -> None:
        """Tell users of the pod, or of a container of it."""
        if self.state.wanted.pod is not None:
            event = pod_event(self.state.wanted.pod, cast(Any, kind), reason, text, container)
            self.services.actor.tell(EVENT_CLIENT, event)

    def publish(self, *, again: bool = False) -> None:
        """Tell the status manager and the prober what has changed; `again`: everything."""
        seen = observed(self.state)
        if again or not same(self._observed, seen):
            self._observed = seen
            self.services.actor.tell(STATUS_MANAGER, seen)
        to_probe = probed(self.state)
        if to_probe is not None and (again or to_probe != self._probed):
            self._probed = to_probe
            self.services.actor.tell(PROBER, to_probe)

    # -- what may be given up -----------------------------------------------------------------------------------------
    async def unless_leaving(self, work: Awaitable[T]) -> T:
        """Wait for something that does not matter once the pod is to end. Raises EffectInterrupted then."""
        return await self.unless(lambda state: state.wanted.leaving, work)

    async def unless(self, condition: Callable[[PodState], bool], work: Awaitable[T]) -> T:
        """Wait for something, but give it up and raise EffectInterrupted once the pod's state fulfils the condition."""
        if condition(self.state):
            if asyncio.iscoroutine(work):
                work.close()
            raise EffectInterrupted
        watch = (condition, asyncio.Event())
        self._watches.append(watch)
        task, happening = asyncio.ensure_future(work), asyncio.ensure_future(watch[1].wait())
        try:
            await asyncio.wait({task, happening}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise EffectInterrupted
            return task.result()
        finally:
            self._watches.remove(watch)
            for one in (task, happening):
                if not one.done():
                    one.cancel()
