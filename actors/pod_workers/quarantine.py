"""Pods in quarantine: the shard died three times while it handled them. Their containers keep running unchanged until
the node must end them: by eviction, preemption or shutdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Final

from actors.container_manager.messages import CONTAINER_MANAGER, CountRunningPod, StopCounting
from actors.pod_config.messages import POD_CONFIG, PodQuarantined
from actors.shared.cri.model import PodRuntime
from actors.shared.kube.codec import ObjectError, decode_pod
from actors.status_manager.messages import STATUS_MANAGER, PodObserved, Waiting
from supervision.actor import Actor
from supervision.quarantine import Journal, QuarantinePolicy, content_key, report_death
from supervision.task_context import InputRecord

from .pod.runtime import alive

POLICY: Final = QuarantinePolicy()


class QuarantinedPods:
    """The quarantined pods of one shard."""

    def __init__(self, actor: Actor, directory: Path, clock: Callable[[], float]) -> None:
        """`clock`: seconds since 1970. Where the directory cannot be written, no pod is ever in quarantine."""
        self._actor = actor
        self._journal = _journal(actor, directory, clock)
        self._pods: dict[str, bytes] = {}
        self._running: set[str] = set()
        """The pods with running containers, which keep the resources that they were admitted with."""
        self._runtime: dict[str, PodRuntime] = {}
        """The last known state of each pod in the runtime."""
        self._listed_at, self._listed = 0.0, frozenset[str]()
        """When the runtime was last listed (monotonic), and the UIDs in that list."""
        self._ending: dict[str, str] = {}
        """Journal key of each pod that is taken out of quarantine to be ended, by UID."""

    @property
    def uids(self) -> Set[str]:
        return self._pods.keys()

    def __contains__(self, uid: str) -> bool:
        return uid in self._pods

    def handling(self, uid: str, data: bytes) -> AbstractContextManager[None]:
        """Record the pod while it is read: if the shard dies meanwhile, the pod is blamed."""
        if self._journal is None:
            return nullcontext()
        return self._journal.handling(self._ending.get(uid) or content_key(uid, data))

    def record_of(self, uid: str, key: Callable[[], str]) -> InputRecord | None:
        """The record for the tasks of the pod's worker. Its journal key is `key`, unless the pod is being ended."""
        if self._journal is None:
            return None
        return self._journal.record_of(lambda: self._ending.get(uid) or key())

    def _is_quarantined(self, key: str) -> bool:
        return self._journal is not None and self._journal.is_quarantined(key)

    def hold_if_quarantined(self, uid: str, data: bytes) -> bool:
        """Hold the pod if this version is in quarantine; return whether it is. A changed pod gets a new chance."""
        if uid in self._ending:
            return False
        if not self._is_quarantined(content_key(uid, data)):
            self._forget(uid)
            return False
        if uid not in self._pods:
            text = "pod %s is in quarantine: its last %d handlings ended this shard"
            self._actor.log.error(text, uid, POLICY.crashes)
            self._actor.tell(POD_CONFIG, PodQuarantined(uid, POLICY.crashes))
        self._pods[uid] = data
        self._report(uid)
        return True

    def release_for_termination(self, uid: str) -> bytes | None:
        """Take the pod out of quarantine, only to end it. Returns its JSON; None: it is not in quarantine, or ending it
        has also killed this shard."""
        data = self._pods.get(uid)
        if data is None:
            return None
        key = f"{content_key(uid, data)}/end"
        if self._is_quarantined(key):
            return None
        self._actor.log.warning("pod %s leaves its quarantine to be ended", uid)
        self._ending[uid] = key
        self._forget(uid)
        return data

    def ended(self, uid: str) -> None:
        """Forget the pod: nothing is left of it."""
        self._ending.pop(uid, None)

    def remove(self, uid: str) -> bool:
        """Forget the pod, which no source has. Returns whether it was in quarantine."""
        return self._forget(uid)

    def _forget(self, uid: str) -> bool:
        self._running.discard(uid)
        self._runtime.pop(uid, None)
        return self._pods.pop(uid, None) is not None

    def listed(self, at: float, uids: Iterable[str]) -> None:
        """The PLEG has listed all pods at that time (monotonic): the runtime has these."""
        self._listed_at, self._listed = at, frozenset(uids)

    def update_runtime(self, runtime: PodRuntime) -> None:
        """Store and report the runtime's state of a pod in quarantine. The pod counts for admission as long as one of
        its containers runs."""
        uid, runs = runtime.uid, bool(alive(runtime))
        self._runtime[uid] = runtime
        self._report(uid)
        if runs == (uid in self._running):
            return
        if runs:
            self._running.add(uid)
            self._count(uid)
        else:
            self._running.remove(uid)
            self._actor.tell(CONTAINER_MANAGER, StopCounting(uid))

    def count(self) -> None:
        """Tell a new container manager, which knows no pods, of the pods that run."""
        for uid in self._running:
            self._count(uid)

    def _count(self, uid: str) -> None:
        self._actor.tell(CONTAINER_MANAGER, CountRunningPod(uid, self._pods[uid]), deadline=30.0)

    def report(self) -> None:
        """Report all quarantined pods again."""
        for uid in self._pods:
            self._report(uid)

    def _report(self, uid: str) -> None:
        data = self._pods[uid]
        text = (
            f"the agent's worker ended {POLICY.crashes} times while it handled this pod; "
            "it is left alone until it changes"
        )
        waiting = {name: Waiting("CrashLoopBackOff", text) for name in _containers(data)}
        runtime = self._runtime_of(uid)
        ready = runtime is not None and bool(runtime.sandboxes) and runtime.sandboxes[0].ready
        seen = PodObserved(
            uid, data, "running", runtime, waiting, reason="CrashLoop", message=text, sandbox_ready=ready
        )
        self._actor.tell(STATUS_MANAGER, seen)

    def _runtime_of(self, uid: str) -> PodRuntime | None:
        """The pod's runtime state; None while it is not known: the status then stays unchanged."""
        if uid in self._runtime or not self._listed_at or uid in self._listed:
            return self._runtime.get(uid)
        return PodRuntime(uid=uid, at=self._listed_at)


def _journal(actor: Actor, directory: Path, clock: Callable[[], float]) -> Journal | None:
    try:
        journal = Journal(directory, POLICY, clock, last_end=actor.last_end)
    except OSError as error:  # a shard without a quarantine is better than none
        actor.log.warning("there is no quarantine of pods: %s", error)
        return None
    report_death(actor.tell, journal)
    if journal.died_on:
        actor.log.error("the last incarnation died while it handled %s", journal.died_on)
    return journal


def _containers(data: bytes) -> Iterator[str]:
    try:
        pod = decode_pod(data)
    except ObjectError:
        return
    for container in pod.spec.containers:
        yield container.name
