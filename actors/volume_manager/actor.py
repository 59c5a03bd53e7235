"""The volume manager: makes a pod's volumes, and removes them when its containers are gone.

It holds nothing that cannot be found again: what is mounted is in the mount table, what a pod wants is in each order.
Every call that may hang in the kernel runs in a disposable process, one for each volume.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, cast

from actors.api_clients.messages import ObjectState
from actors.pod_workers.messages import KnownPods, VolumesMayWork, pod_workers, worker_of
from actors.shared.config.agent import Agent
from actors.shared.kube.codec import ObjectError, decode_pod
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import full_name
from supervision.actor import Actor, Address, DisposableError, DisposableTimeout, on
from supervision.protocol import Hello

from . import making, orphans, plan, removing
from .claiming import Claiming
from .csi.model import PLUGIN
from .layout import OURS, is_name, is_uid, subpath_path
from .locks import PodLocks
from .messages import (
    BindSubPaths,
    MountVolumes,
    SubPathsBound,
    UnmountVolumes,
    VolumesFailed,
    VolumesMounted,
    VolumesUnmounted,
)
from .performing import MOUNT_SECONDS, Performing
from .telling import setup_failed, texts

UNMOUNT_SECONDS = 15.0
REMOVE_SECONDS = 110.0
TOKEN_SECONDS = 30.0
"""How often it is looked whether a token has become old."""
RENEW_AGAIN_SECONDS = 10.0
SWEEP_SECONDS = 60.0
"""How often orphans that could not be removed are tried again."""
_MAKING = "actors.volume_manager.making:"
_REMOVING = "actors.volume_manager.removing:"


def _stamp() -> str:
    now = time.time_ns()
    return f"{time.strftime('%Y_%m_%d_%H_%M_%S', time.gmtime(now // 10**9))}.{now % 10**9:09d}"


class VolumeManager(Actor):
    """See messages.py for what it is asked."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, stamp: Callable[[], str] = _stamp) -> None:
        """`stamp` gives a text that was never given before."""
        super().__init__()
        self._clock, self._stamp = clock, stamp

    async def on_start(self) -> None:
        self._agent = cast(Agent, self.context)
        self._pods_dir = _real(self._agent.pods_dir)
        self._locks = PodLocks()
        self._plans: dict[str, dict[str, plan.Step]] = {}
        self._known = orphans.Known()
        self._unknown_since: dict[str, float] = {}
        self._complained: set[str] = set()
        os.makedirs(self._agent.pods_dir, 0o750, exist_ok=True)
        self._self_bound = False
        self._performing = Performing(
            self, self._clock, self._stamp, str(self._agent.flags.get("experimental-mounter-path") or "")
        )
        self._claiming = Claiming(self)
        self._waiting: set[str] = set()
        """Pods whose worker was told that a volume could not be filled."""
        self._renewing: set[str] = set()
        await self._share()
        self._count_what_is_there()
        self.after(0.0, self._ask_workers)
        self.every(SWEEP_SECONDS, self._sweep, jitter=0.1)
        if not self._agent.standalone:
            self.every(TOKEN_SECONDS, self._renew_tokens, jitter=0.1)
            self._performing.serve_drivers(self._agent, self._locks)

    async def on_stop(self) -> None:
        """Without pods nothing of ours needs to stay: the mount that propagation needs goes too."""
        if self._self_bound and not os.listdir(self._agent.pods_dir):
            try:
                removing.unmount_all([self._pods_dir], lazy=False)
            except OSError as error:
                self.log.warning("%s stays mounted: %s", self._agent.pods_dir, error)

    async def _share(self) -> None:
        """Nothing is mounted there yet, as a rule; what is may hang when it is opened."""
        try:
            if not removing.mounts_below(self._pods_dir):
                self._self_bound = making.make_shared(self._pods_dir)
            elif not making.is_shared(self._pods_dir):
                arguments = {"path": self._pods_dir}
                self._self_bound = await self.disposable(_MAKING + "make_shared", arguments, deadline=MOUNT_SECONDS)
        except (OSError, DisposableError) as error:
            self.log.warning("mounts below %s will not propagate to or from containers: %s", self._pods_dir, error)

    def _count_what_is_there(self) -> None:
        """What an earlier incarnation mounted is in the mount table; nothing is undone before the workers told."""
        self._self_bound = self._self_bound or self._pods_dir in removing.mounts_below(self._pods_dir)
        mounts = self._mounts(self._agent.pods_dir)
        self.metrics.count("reconstruct_volume_operations_total", len(mounts))
        if mounts:
            self.log.info("%d mounts of %d pods are there from before", len(mounts), len(self._present()))

    def _ask_workers(self) -> None:
        for worker in pod_workers(self._agent.workers):
            self.tell(worker, Hello(self.name, self.incarnation), deadline=30.0)

    # -- making -----------------------------------------------------------------------------------------------------
    @on(MountVolumes)
    async def on_mount(self, message: MountVolumes, sender: Address) -> VolumesMounted | VolumesFailed:
        if not is_uid(message.uid):
            return VolumesFailed(message.uid, f"not a pod's UID: {message.uid!r}", permanent=True)
        async with self._wanted(message.uid):
            return await self._mount(message.uid, message.pod)

    @asynccontextmanager
    async def _wanted(self, uid: str) -> AsyncIterator[None]:
        """Alone with a pod that a worker asked for. What it held is dropped when the pod went meanwhile: nobody would
        ever unmount it, so its directory is left to the sweep."""
        self._known = self._known.wanted(uid)
        async with self._locks.hold(uid):
            try:
                yield
            finally:
                if not self._known.may_have(uid):
                    self._drop(uid)
                    self._look()

    async def _mount(self, uid: str, data: bytes) -> VolumesMounted | VolumesFailed:
        try:
            pod = decode_pod(data)
        except ObjectError as error:
            return VolumesFailed(uid, f"the pod cannot be read: {error}", permanent=True)
        steps = await self._plan(uid, pod)
        refused = [step for step in steps if isinstance(step, plan.Refused)]
        if refused:
            text = "; ".join(step.message for step in refused)
            return VolumesFailed(uid, text, [step.volume for step in refused], permanent=True)
        self._performing.projecting.follow(uid, pod, data, steps)
        errors = await self._each(pod, steps)
        failed = {step.volume: error for step, error in zip(steps, errors, strict=True) if error}
        self._pass_over_filled(pod, steps, failed)
        if failed:
            self._waiting.add(uid)
            told = texts(steps, failed)
            return VolumesFailed(uid, "; ".join(told), list(failed), told)
        self._waiting.discard(uid)
        return VolumesMounted(uid, {step.volume: step.path for step in steps if not isinstance(step, _PATHLESS)})

    def _pass_over_filled(self, pod: Pod, steps: list[plan.Step], failed: dict[str, str]) -> None:
        """What an earlier incarnation filled is good as it is, while its objects cannot be had: the API server may be
        away for long, and the pod runs."""
        for step in steps:
            if step.volume in failed and isinstance(step, plan.Projected) and self._performing.projecting.filled(step):
                why = setup_failed(step.volume, failed.pop(step.volume))
                self.log.warning("pod %s: volume kept as it is: %s", full_name(pod), why)
                self.after(RENEW_AGAIN_SECONDS, partial(self._renew_soon, pod.metadata.uid))

    async def _plan(self, uid: str, pod: Pod) -> list[plan.Step]:
        joined = not self._agent.standalone
        in_memory = any(
            (volume.emptyDir and volume.emptyDir.medium == "Memory") or (joined and (volume.secret or volume.projected))
            for volume in pod.spec.volumes
        )
        memory = await self._performing.node_memory() if in_memory else 0
        pod_dir = self._agent.pod_dir(uid)
        claims = await self._claiming.find(pod, pod_dir) if joined else {}
        steps = [
            plan.claimed(pod, step.volume, claims[step.volume], pod_dir) if step.volume in claims else step
            for step in plan.plan(pod, pod_dir, memory, joined=joined)
        ]
        self._plans[uid] = {step.volume: step for step in steps}
        return steps

    async def _each(self, pod: Pod, steps: list[plan.Step]) -> list[str]:
        """Perform all, those that need a process at once. An error's text for each, or ''."""
        pending = [self._performing.perform(pod, step) for step in steps]
        return list(await asyncio.gather(*pending))

    # -- what has changed elsewhere ---------------------------------------------------------------------------------
    @on(ObjectState)
    def on_object(self, message: ObjectState, sender: Address) -> None:
        """A Secret or ConfigMap that pods of this node mount."""
        for uid in self._performing.projecting.having(message.ref):
            self._renew_soon(uid)

    def _renew_tokens(self) -> None:
        for uid in self._performing.projecting.due():
            self._renew_soon(uid)

    def _renew_soon(self, uid: str) -> None:
        if uid in self._waiting:
            # its worker waits, and asks again later than it need
            self.tell(worker_of(uid, self._agent.workers), VolumesMayWork(uid))
        elif uid not in self._renewing:
            self._renewing.add(uid)
            self.start_task(self._renew(uid), f"renew {uid}")

    async def _renew(self, uid: str) -> None:
        """Fill the volumes of a running pod again; when that fails it keeps what it has."""
        async with self._locks.hold(uid):
            self._renewing.discard(uid)
            data = self._performing.projecting.data(uid)
            if not data:
                return
            pod = decode_pod(data)
            steps = [step for step in self._plans.get(uid, {}).values() if isinstance(step, plan.Projected)]
            errors = await asyncio.gather(*(self._performing.projecting.fill(pod, step) for step in steps))
        for step, error in zip(steps, errors, strict=True):
            if error:
                self.log.warning("pod %s: volume %s stays as it was: %s", full_name(pod), step.volume, error)
                self.metrics.count("volume_renewals_failed_total")
        if any(errors):
            self.after(RENEW_AGAIN_SECONDS, lambda: self._renew_soon(uid))

    # -- subPath ----------------------------------------------------------------------------------------------------
    @on(BindSubPaths)
    async def on_bind(self, message: BindSubPaths, sender: Address) -> SubPathsBound | VolumesFailed:
        if not is_uid(message.uid) or not is_name(message.container):
            return VolumesFailed(message.uid, f"not a container: {message.uid!r} {message.container!r}", permanent=True)
        async with self._wanted(message.uid):
            return await self._bind(message)

    async def _bind(self, message: BindSubPaths) -> SubPathsBound | VolumesFailed:
        if message.uid not in self._plans and message.pod:
            mounted = await self._mount(message.uid, message.pod)
            if isinstance(mounted, VolumesFailed):
                return mounted
        steps = self._plans.get(message.uid, {})
        unknown = sorted({item.volume for item in message.items if isinstance(steps.get(item.volume), _UNBINDABLE)})
        if unknown:
            text = f"volumes {', '.join(unknown)} were not mounted by this incarnation: ask for MountVolumes again"
            return VolumesFailed(message.uid, text, unknown)
        paths: dict[int, str] = {}
        for item in message.items:
            step = cast("plan.Directory | plan.HostPath", steps[item.volume])
            target = subpath_path(self._agent.pod_dir(message.uid), item.volume, message.container, item.index)
            arguments = {
                "volume": step.path,
                "path": item.path,
                "target": target,
                "follow": isinstance(step, plan.HostPath | plan.Local),
            }
            error = await self._performing.risk(step.path, "actors.volume_manager.subpaths:bind_subpath", arguments)
            if error:
                text = f'failed to prepare subPath for volumeMount "{item.volume}" of container "{message.container}"'
                return VolumesFailed(message.uid, f"{text}: {error}", [item.volume])
            paths[item.index] = target
        return SubPathsBound(message.uid, message.container, paths)

    # -- removing ---------------------------------------------------------------------------------------------------
    @on(UnmountVolumes)
    async def on_unmount(self, message: UnmountVolumes, sender: Address) -> VolumesUnmounted | VolumesFailed:
        if not is_uid(message.uid):
            return VolumesFailed(message.uid, f"not a pod's UID: {message.uid!r}", permanent=True)
        async with self._locks.hold(message.uid):
            error = await self._undo(message.uid, "remove_volumes")
        if error:
            return VolumesFailed(message.uid, error)
        self._drop(message.uid)
        return VolumesUnmounted(message.uid)

    def _drop(self, uid: str) -> None:
        self._plans.pop(uid, None)
        self._waiting.discard(uid)
        self._performing.projecting.forget(uid, self._agent.pod_dir(uid))

    async def _undo(self, uid: str, removal: str) -> str:
        """Unmount all below the pod's directory, then remove the files. '' or what is left."""
        pod_dir = self._agent.pod_dir(uid)
        error = await self._unmount(pod_dir, of_drivers=False)
        if not error and self._performing.csi is not None:
            error = await self._performing.csi.unmount(pod_dir)
        error = error or await self._unmount(pod_dir)
        if error:
            return error
        if removal == "remove_volumes" and not _anything(pod_dir):
            return ""
        return await self._run(f"{_REMOVING}{removal}", {"pod_dir": pod_dir}, REMOVE_SECONDS)

    async def _unmount(self, pod_dir: str, *, of_drivers: bool = True) -> str:
        """First as it should be; what is busy or hangs is detached, and ends when its last user does."""
        error = ""
        for lazy in (False, True):
            points = self._mounts(pod_dir, of_drivers=of_drivers)
            if not points:
                return ""
            error = await self._run(_REMOVING + "unmount_all", {"points": points, "lazy": lazy}, UNMOUNT_SECONDS)
        left = self._mounts(pod_dir, of_drivers=of_drivers)
        return f"still mounted: {', '.join(left[:5])}: {error}" if left else ""

    async def _run(self, function: str, arguments: dict[str, Any], deadline: float) -> str:
        try:
            await self.disposable(function, arguments, deadline=deadline)
        except DisposableTimeout:
            return f"not done within {deadline:g} s"
        except DisposableError as error:
            return error.text
        return ""

    def _mounts(self, directory: str, *, of_drivers: bool = True) -> list[str]:
        """Mount points below it, without the one that the pods' directory itself may be, and without volumes that a
        driver is to take away, if so asked."""
        points = removing.mounts_below(directory)
        return [point for point in points if point != self._pods_dir and (of_drivers or f"/{PLUGIN}/" not in point)]

    # -- orphans ----------------------------------------------------------------------------------------------------
    @on(KnownPods)
    def on_known_pods(self, message: KnownPods, sender: Address) -> None:
        self._known = self._known.told(message.worker, message.workers, message.uids)
        for uid in [uid for uid in self._plans if not self._known.may_have(uid)]:
            self._drop(uid)
        self._look()

    def _look(self) -> None:
        """Note what is unknown; come back when it has been so for long enough."""
        before = self._unknown_since
        self._unknown_since = orphans.look(before, self._present(), self._known, self._clock())
        if self._unknown_since.keys() - before.keys():
            self.after(orphans.GRACE_SECONDS, self._sweep)

    async def _sweep(self) -> None:
        self._look()
        if self._performing.csi is not None:
            await self._performing.csi.sweep()
        cleaned = 0
        for uid in orphans.due(self._unknown_since, self._clock()):
            cleaned += await self._clean(uid)
        self.metrics.gauge("kubelet_orphan_pod_cleaned_volumes", cleaned)
        self.metrics.gauge("kubelet_orphan_pod_cleaned_volumes_errors", len(self._complained))

    async def _clean(self, uid: str) -> bool:
        async with self._locks.hold(uid):
            if self._known.may_have(uid):
                return False
            self._drop(uid)
            error = await self._undo(uid, "remove_pod_dir")
        if error:
            if uid not in self._complained:
                self._complained.add(uid)
                self.log.warning("orphaned pod %s is not removed yet (tried each minute): %s", uid, error)
            return False
        self._complained.discard(uid)
        self.log.info("orphaned pod %s: its directory is removed", uid)
        return True

    def _present(self) -> list[str]:
        with os.scandir(self._agent.pods_dir) as entries:
            return [entry.name for entry in entries if entry.is_dir(follow_symlinks=False) and is_uid(entry.name)]


def _real(path: str) -> str:
    """As the mount table writes it."""
    return os.path.realpath(path)


def _anything(pod_dir: str) -> bool:
    """Whether the volume manager made anything for the pod."""
    return any(os.path.lexists(f"{pod_dir}/{name}") for name in OURS)


_PATHLESS = (plan.ByRuntime, plan.Refused, plan.Unready)
_UNBINDABLE = (type(None), plan.ByRuntime, plan.Refused, plan.Unready)
