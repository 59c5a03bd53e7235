"""The pod workers of a shard, by UID. A worker exists from the first report of its pod, by a source or the runtime,
until nothing of the pod is left. Like podWorkers in the kubelet, the table takes the desired pods and the pods of the
runtime, and hands each to its worker. Until all sources have reported, nothing is stopped or removed but static pods.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from actors.shared.cri.model import PodRuntime
from actors.shared.kube.codec import ObjectError, decode_pod
from actors.shared.kube.pods import is_static

from .executor.pod_worker import PodWorker
from .executor.services import ExecutorContext
from .inventory import ShardInventory
from .messages import KillPod
from .pod.orders import KillOrdered, PodRemoved
from .pod.phase_transitions import PodWorkerPhase
from .pod.runtime import remains
from .quarantine import QuarantinedPods

ORPHAN_GRACE_SECONDS = 1
"""The grace period, in seconds, of the containers of a pod that no source has, as in the kubelet."""


class PodWorkers:
    """Makes the workers, and forgets those that have ended."""

    def __init__(self, services: ExecutorContext, quarantine: QuarantinedPods, changed: Callable[[], None]) -> None:
        """`changed`: called when a worker has ended."""
        self._services, self._quarantine, self._changed = services, quarantine, changed
        self._actor = services.actor
        self._inventory = ShardInventory()
        self.by_uid: dict[str, PodWorker] = {}

    def inventory(self) -> frozenset[str] | None:
        """UIDs of the pods that may have resources on the node; None until the sources and the PLEG have reported."""
        if not self._inventory.complete:
            return None
        active = {uid for uid, worker in self.by_uid.items() if worker.state.phase is not PodWorkerPhase.FINISHED}
        return self._inventory.unread.union(active, self._quarantine.uids)

    # -- desired pods ---------------------------------------------------------------------------------------------
    def set_desired(self, uid: str, data: bytes) -> None:
        """`data`: JSON of the pod. If it cannot be read, the pod stays unchanged."""
        if self._quarantine.hold_if_quarantined(uid, data):
            return
        with self._quarantine.handling(uid, data):
            try:
                pod = decode_pod(data)
            except ObjectError as error:
                self._actor.log.error("pod %s cannot be read, it stays unchanged: %s", uid, error)
                return
        self._worker(uid).want(pod, data)

    def remove(self, uid: str) -> None:
        """No source has the pod."""
        if self._quarantine.remove(uid):
            # the runtime's data is enough to end it: its manifest is not read again
            self._worker(uid, PodRuntime(uid=uid)).wake()
        if uid in self.by_uid:
            self.by_uid[uid].tell(PodRemoved())

    def sources_reported(self, desired: Collection[str]) -> None:
        """All sources have reported: the pods that are not in `desired` are removed."""
        unclaimed = self._inventory.sources_reported()
        for uid in (self.by_uid.keys() | self._quarantine.uids) - set(desired):
            self.remove(uid)
        for runtime in unclaimed:
            self._see(runtime)

    def static_sources_reported(self, desired: Collection[str]) -> None:
        """The sources of static pods have reported, the API server has not: the static pods that are not in `desired`
        are removed. They may be what the API server needs to start, and no other source can have them."""
        unclaimed = self._inventory.static_sources_reported()
        for uid, worker in list(self.by_uid.items()):
            pod = worker.state.wanted.pod
            if uid not in desired and pod is not None and is_static(pod):
                self.remove(uid)
        for runtime in unclaimed:
            self._see(runtime)

    # -- pods of the runtime --------------------------------------------------------------------------------------
    def runtime_listed(self, pods: Sequence[PodRuntime], unread: Iterable[str], at: float) -> None:
        """The PLEG has listed all pods at that time (monotonic); of `unread` it knows the UID only."""
        self._inventory.runtime_listed(unread)
        listed = {runtime.uid for runtime in pods}
        self._quarantine.listed(at, listed | self._inventory.unread)
        for runtime in pods:
            self._see(runtime)
        gone = (self.by_uid.keys() | self._quarantine.uids) - self._inventory.unread
        for uid in gone - listed:
            self._see(PodRuntime(uid=uid, at=at))

    def runtime_changed(self, runtime: PodRuntime) -> None:
        self._inventory.read(runtime.uid)
        self._see(runtime)

    def _see(self, runtime: PodRuntime) -> None:
        worker = self.by_uid.get(runtime.uid)
        if worker is not None:
            worker.see(runtime)
        elif runtime.uid in self._quarantine:
            self._quarantine.update_runtime(runtime)
        elif not self._inventory.claims(runtime):
            where = f"{runtime.namespace}/{runtime.name}"
            self._actor.log.info("no source has pod %s (%s): it is terminated", where, runtime.uid)
            orphan = self._worker(runtime.uid, runtime)
            orphan.tell(KillOrdered(KillPod(runtime.uid, "", "", ORPHAN_GRACE_SECONDS)))
            orphan.wake()

    # -- the workers ----------------------------------------------------------------------------------------------
    def _worker(self, uid: str, runtime: PodRuntime | None = None) -> PodWorker:
        """The pod's worker; made if there is none. `runtime`: of a pod that no source has."""
        worker = self.by_uid.get(uid)
        if worker is None:
            worker = self.by_uid[uid] = PodWorker(self._services, uid, runtime)
            if runtime is not None:
                self._services.starter.metrics.orphan()
            record = self._quarantine.record_of(uid, lambda: worker.key)
            self._actor.start_task(self._run(worker), f"pod {uid}", record=record)
        return worker

    async def _run(self, worker: PodWorker) -> None:
        await worker.run()
        state = worker.state
        self.by_uid.pop(state.uid, None)
        self._quarantine.ended(state.uid)
        if state.wanted.again:
            if state.wanted.pod is not None:
                self._services.starter.metrics.restarted(state.wanted.pod)
            self.set_desired(state.uid, state.wanted.again)
        if state.runtime is not None and remains(state.runtime, state.stopped):
            self._see(state.runtime)  # an order that came during its cleanup is handled once
        self._changed()
