"""The execution of effects for one pod: its state, which only events change, and the effects' access to other
actors."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar, cast

from actors.api_clients.event_client.messages import EVENT_CLIENT
from actors.pod_workers.containers.host_ips import node_ips
from actors.pod_workers.kubernetes_events import pod_event
from actors.pod_workers.pod.event import PodEvent
from actors.pod_workers.pod.observation import observed, probed, same
from actors.pod_workers.pod.orders import with_lost
from actors.pod_workers.pod.results import ClockWasSet, RuntimeObserved, TryFailed, UnlistedFound
from actors.pod_workers.pod.runtime import with_messages
from actors.pod_workers.pod.state import PodState
from actors.pod_workers.pod.unlisted_containers import find_unlisted, needs_process_check
from actors.prober.messages import PROBER, ProbedPod
from actors.shared.cri.model import PodRuntime
from actors.shared.cri.pod_lookup import look, look_at
from actors.shared.kube.pod import Pod
from actors.status_manager.messages import STATUS_MANAGER, PodObserved
from supervision.addresses import ActorName
from supervision.message import Message, Question

from . import instance_marks, pod_processes
from .hooks import HookFailed
from .services import ExecutorContext

T = TypeVar("T")
R = TypeVar("R", bound=Message)


class EffectInterrupted(Exception):
    """The pod must end, or end sooner: the effect's result no longer matters."""


class Execution:
    """The execution of one pod."""

    def __init__(self, services: ExecutorContext, state: PodState) -> None:
        self.services, self.state = services, state
        self._jumps = services.clock.jumps()
        self._wakeup = asyncio.Event()
        """Events have arrived that the pod worker has not handled yet."""
        self._watches: list[tuple[Callable[[PodState], bool], asyncio.Event]] = []
        self._marks_read = False
        """Whether this incarnation has read the marks of an earlier one."""
        self._observed: PodObserved | None = None
        self._probed: ProbedPod | None = None

    # -- the pod --------------------------------------------------------------------------------------------------
    def wake(self) -> None:
        """Have the pod worker decide again."""
        self._wakeup.set()

    def clear_wakeup(self) -> None:
        self._wakeup.clear()

    async def until_woken(self) -> None:
        await self._wakeup.wait()

    def report(self, event: PodEvent) -> None:
        """Apply the result of an effect, whose times are by the present clock."""
        state, jump = self.state, self._jumps.take()
        if jump:
            state = ClockWasSet(jump).apply(state)
        self.proceed(event.apply(state))

    def proceed(self, state: PodState) -> None:
        """Replace the state of the pod."""
        before, self.state = self.state, state
        if state.retry.failures > before.retry.failures:
            due = max((state.due or 0.0) - self.services.clock(), 0.0)
            self.services.actor.log.info("pod %s: next try within %.1f s: %s", state.label, due, state.retry.trouble)
        for condition, happened in self._watches:
            if condition(state):
                happened.set()
        if state.phase is not before.phase:
            self.publish()

    def failed(self, why: str) -> None:
        """Record a failure; a retry follows."""
        self.report(TryFailed(why, self.services.clock()))

    @property
    def pod(self) -> Pod:
        """The pod with its allocated resources. Raises EffectInterrupted if only the runtime knows the pod."""
        if self.state.wanted.pod is None:
            raise EffectInterrupted
        return self.state.wanted.pod

    # -- the runtime ----------------------------------------------------------------------------------------------
    async def look(self) -> PodRuntime:
        """Ask the runtime for everything of the pod. Raises CriError."""
        return self._observe(await look(self.services.client, self.state.uid, self.state.view.known))

    async def read_runtime_again(self) -> PodRuntime:
        """Like `look`, after this pod worker's own successful changes. Nobody else creates containers of the pod, so
        all ids are known and no list is needed. Raises CriError."""
        view = self.state.view
        known = view.runtime
        if view.stale or known is None:
            return await self.look()
        sandboxes = dict.fromkeys([sandbox.id for sandbox in known.sandboxes] + list(view.sandboxes))
        if not sandboxes.keys() >= set(view.containers.values()):
            return await self.look()  # a relist has contradicted it meanwhile
        containers = {container.id: container.sandbox_id for container in known.containers} | view.containers
        return self._observe(await look_at(self.services.client, self.state.uid, list(sandboxes), containers))

    def _observe(self, runtime: PodRuntime) -> PodRuntime:
        self.report(RuntimeObserved(self.complete(runtime)))
        seen, pod = self.state.runtime or runtime, self.state.wanted.pod
        if pod is not None and not self._marks_read:
            self._marks_read = True
            for event in instance_marks.found(pod, seen, self.services.agent.pod_dir(self.state.uid)):
                self.report(event)
        return seen

    def complete(self, runtime: PodRuntime) -> PodRuntime:
        """Add the termination messages of its containers, if the pod is known, and the containers that the runtime does
        not list."""
        pod, agent = self.state.wanted.pod, self.services.agent
        lost = bool(with_lost(self.state, runtime).lost)
        if needs_process_check(runtime, self.state.runtime, self.state.unlisted, lost=lost):
            with suppress(OSError):  # cgroups that cannot be read: a start or an end looks again, and is tried later
                self.find_unlisted(runtime)
        if pod is None:
            return runtime
        return with_messages(runtime, pod, agent.pod_dir(runtime.uid), agent.pod_logs_dir)

    def find_unlisted(self, runtime: PodRuntime | None = None) -> None:
        """Find containers that run in the pod's cgroup although the runtime does not list them. `runtime`: a look that
        is not reported yet; None: the last one."""
        state, running, paused = self.state, set[str](), set[str]()
        for cgroup in pod_processes.cgroups(state, self.services.agent.config.cgroupRoot):
            running |= pod_processes.running_in(pod_processes.tree(), cgroup)
            paused |= pod_processes.paused_in(pod_processes.tree(), cgroup)
        seen = runtime or state.runtime or PodRuntime(uid=state.uid)
        self.report(UnlistedFound(find_unlisted(seen, state.runtime, state.unlisted, running, paused)))

    async def pod_ip(self) -> str:
        """The address for a hook without a host; with hostNetwork, the node's. Raises HookFailed."""
        if self.state.sandbox_ip:
            return self.state.sandbox_ip
        if not self.state.on_host_network:
            raise HookFailed("failed to find networking container")  # the node's address would reach another program
        ips = await node_ips(self.services.actor, self.services.agent)
        return ips[0] if ips else "127.0.0.1"

    # -- other actors -----------------------------------------------------------------------------------------------
    async def ask(self, name: ActorName, question: Question[R], seconds: float) -> R:
        """Raises AskError."""
        return await self.services.actor.ask(name, question, timeout=seconds)

    def announce(self, kind: str, reason: str, text: str, container: str = "", instance: str = "") -> None:
        """Emit a Kubernetes event for the pod or one of its containers. `instance`: the container's id, for reasons
        that occur only once in its life."""
        if self.state.wanted.pod is not None:
            event = pod_event(self.state.wanted.pod, cast(Any, kind), reason, text, container, instance)
            self.services.actor.tell(EVENT_CLIENT, event)

    def publish(self, *, again: bool = False) -> None:
        """Send changes to the status manager and the prober; `again`: send everything."""
        seen = observed(self.state)
        if again or not same(self._observed, seen):
            self._observed = seen
            self.services.actor.tell(STATUS_MANAGER, seen)
        to_probe = probed(self.state)
        if to_probe is not None and (again or to_probe != self._probed):
            self._probed = to_probe
            self.services.actor.tell(PROBER, to_probe)

    # -- interruptible waits ------------------------------------------------------------------------------------------
    async def unless_terminating(self, work: Awaitable[T], patience: float = 0.0) -> T:
        """Wait for something that no longer matters once the pod must end. Raises EffectInterrupted when it must.
        `patience`: seconds in which something that has begun may still end."""
        return await self.unless(lambda state: state.wanted.must_terminate, work, patience)

    async def unless(self, condition: Callable[[PodState], bool], work: Awaitable[T], patience: float = 0.0) -> T:
        """Wait for something. Raises EffectInterrupted once the pod's state fulfils the condition."""
        if condition(self.state):
            if asyncio.iscoroutine(work):
                work.close()
            raise EffectInterrupted
        watch = (condition, asyncio.Event())
        self._watches.append(watch)
        task, happening = asyncio.ensure_future(work), asyncio.ensure_future(watch[1].wait())
        try:
            await asyncio.wait({task, happening}, return_when=asyncio.FIRST_COMPLETED)
            if patience and not task.done():
                await self._wait(task, patience)
            if not task.done():
                raise EffectInterrupted
            return task.result()
        finally:
            self._watches.remove(watch)
            for one in (task, happening):
                if not one.done():
                    one.cancel()

    async def _wait(self, task: asyncio.Future[Any], seconds: float) -> None:
        """Until it is done, at most so long."""
        late = asyncio.Event()
        timer, waiting = self.services.actor.after(seconds, late.set), asyncio.ensure_future(late.wait())
        try:
            await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()
            waiting.cancel()
