"""Mounts the volumes of pods, and remembers the mounters of each pod."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from actors.api_clients.event_client.messages import EVENT_CLIENT, pod_event
from actors.api_clients.kube_client.messages import ObjectRef
from actors.shared.config.agent import Agent
from actors.shared.kube.codec import ObjectError, decode_pod
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import full_name
from supervision.actor import Actor
from supervision.errors import error_text

from .failure_texts import MountError, events_of, failure, unattached
from .messages import BindSubPaths, SubPathsBound, VolumesFailed, VolumesMounted
from .persistent_volumes.lookup import ClaimLookup
from .persistent_volumes.volume_claims import ClaimedVolume, supplemental_groups
from .tools.volume_tools import VolumeTools
from .types.base import ApiInputs, Mounter, PendingVolume, Plan, PodContext, RejectedVolume
from .types.registry import needs_node_memory, plan
from .volume_metrics import VolumeMetrics
from .volume_paths import subpath_path

_BIND: Final = "actors.volume_manager.host.subpaths:bind_subpath"

_EVENT_SECONDS: Final = 122.0
"""An event of a volume that cannot be refreshed is repeated after this time: the kubelet's longest pause between two
attempts."""


class PodVolumes(msgspec.Struct, frozen=True, kw_only=True):
    """The volumes of a pod, as of its last mount."""

    data: bytes = b""
    """The pod's JSON; b"" when no volume of it is refreshed."""
    mounters: Mapping[str, Mounter] = {}
    """By volume."""
    inputs: ApiInputs = ApiInputs()
    failed: bool = False
    """Whether a volume could not be mounted, so that the pod's worker waits."""
    requested_at: float = 0.0
    """When the current mount (complete or not) was first ordered, by the clock of PodMounts."""


class PodMounts:
    """The mounted volumes of all pods. Unmounting does not need this state; after a restart the workers order their
    mounts again.
    """

    def __init__(self, actor: Actor, agent: Agent, tools: VolumeTools, clock: Callable[[], float]) -> None:
        self._actor, self._agent, self._tools, self._clock = actor, agent, tools, clock
        self._claims = ClaimLookup(tools.api, agent.node_name, agent.pods_dir)
        self._pods: dict[str, PodVolumes] = {}
        self._event_times: dict[str, dict[str, float]] = {}
        """When the last event about a volume that could not be refreshed was sent, by UID and text."""
        self._metrics = VolumeMetrics(actor.metrics)

    # -- state --------------------------------------------------------------------------------------------------------
    @property
    def uids(self) -> list[str]:
        return list(self._pods)

    def data_of(self, uid: str) -> bytes:
        """The JSON of a pod with volumes that are refreshed, else b""."""
        return self._pods[uid].data if uid in self._pods else b""

    def is_waiting(self, uid: str) -> bool:
        """Whether the pod's worker waits because a volume could not be mounted."""
        return uid in self._pods and self._pods[uid].failed

    def using(self, ref: ObjectRef) -> list[str]:
        """The pods with a volume whose files come from this object."""
        return [uid for uid, known in self._pods.items() if ref in known.inputs.objects]

    def with_trust_bundles(self) -> list[str]:
        """The pods with a volume whose files come from ClusterTrustBundles."""
        return [uid for uid, known in self._pods.items() if known.inputs.trust_bundles]

    def with_expiring_token(self) -> list[str]:
        """The pods with a token that is due for replacement."""
        due = self._tools.api.tokens.due
        return [uid for uid, known in self._pods.items() if any(map(due, known.inputs.tokens))]

    def torn_down(self, uid: str, seconds: float, error: str) -> None:
        """Count an attempt to unmount the pod's volumes, which takes the same time for all of them."""
        for mounter in self._pods.get(uid, PodVolumes()).mounters.values():
            name = "unmap_volume" if mounter.is_device else "volume_unmount"
            self._metrics.operation(name, mounter.measured_plugin, seconds, failed=bool(error))

    def forget(self, uid: str) -> None:
        self._pods.pop(uid, None)
        self._event_times.pop(uid, None)
        self._tools.api.tokens.forget(uid)
        if self._tools.certificates is not None:
            self._tools.certificates.forget(uid)
        self._count()

    def _count(self) -> None:
        found = self._pods.values()
        self._metrics.count((one.measured_plugin, not each.failed) for each in found for one in each.mounters.values())

    # -- mounting -----------------------------------------------------------------------------------------------------
    async def mount(self, uid: str, data: bytes) -> tuple[VolumesMounted | VolumesFailed, list[str]]:
        """Mount the pod's volumes. Returns the answer, and the volumes that keep the files of an earlier mount because
        the API server is unavailable.
        """
        try:
            pod = decode_pod(data)
        except ObjectError as error:
            return VolumesFailed(uid, f"the pod cannot be read: {error}"), []
        plans, groups = await self._plan(uid, pod)
        requested_at = self._pods[uid].requested_at if self.is_waiting(uid) else self._clock()
        mounters = {one.volume: one for one in plans if isinstance(one, Mounter)}
        rejected = [one for one in plans if isinstance(one, RejectedVolume)]
        if rejected:
            self._pods[uid] = PodVolumes(mounters=mounters, failed=True, requested_at=requested_at)
            self._count()
            text = "; ".join(one.message for one in rejected)
            return VolumesFailed(uid, text, [one.volume for one in rejected]), []
        inputs = _inputs(pod, mounters.values())
        self._pods[uid] = known = PodVolumes(
            data=data if inputs else b"", mounters=mounters, inputs=inputs, requested_at=requested_at
        )
        errors = await self._set_up(pod, mounters.values(), requested_at)
        unrefreshed = [volume for volume in errors if mounters[volume].is_filled()]
        self._report_unrefreshed(uid, pod, {volume: errors.pop(volume) for volume in unrefreshed})
        pending = [one for one in plans if isinstance(one, PendingVolume)]
        errors |= {one.volume: one.unusable.error if one.unusable else MountError(one.message) for one in pending}
        failed = {one.volume: errors[one.volume] for one in plans if one.volume in errors}
        self._pods[uid] = msgspec.structs.replace(known, failed=bool(failed))
        self._count()
        if failed:
            names = {volume: mounter.spec_name for volume, mounter in mounters.items()}
            names |= {one.volume: one.unusable.name for one in pending if one.unusable}
            unprocessed = {one.volume for one in pending if not one.unusable}
            events, waiting = events_of(failed, names, unprocessed), unattached(failed)
            texts = [event.text for event in events] + [failure(names[each], failed[each]) for each in waiting]
            exhausted = any(error.exhausted for error in failed.values())
            return VolumesFailed(uid, "; ".join(texts), list(failed), waiting, events, exhausted), unrefreshed
        paths = {name: mounter.path for name, mounter in mounters.items() if mounter.path}
        return VolumesMounted(uid, paths, groups), unrefreshed

    async def refresh(self, uid: str) -> dict[str, MountError]:
        """Set up again the volumes whose files come from the API server. Returns errors by volume; these volumes stay
        unchanged."""
        known = self._pods.get(uid)
        if known is None or not known.data:
            return {}
        pod = decode_pod(known.data)
        refreshed = [mounter for mounter in known.mounters.values() if mounter.refreshed]
        errors = await self._set_up(pod, refreshed, self._clock())
        self._report_unrefreshed(uid, pod, errors)
        for _ in errors:
            self._actor.metrics.count("volume_renewals_failed_total")
        return errors

    def _report_unrefreshed(self, uid: str, pod: Pod, errors: Mapping[str, MountError]) -> None:
        """Report volumes that keep their files: from the second failure in a row on, and not for each attempt.

        The first failure is often that of a pod that is being deleted: once its object is gone, the API server forbids
        this node to read what the pod used.
        """
        now, before = self._clock(), self._event_times.pop(uid, {})
        times: dict[str, float] = {}
        for volume, error in errors.items():
            text = failure(volume, error)
            times[text] = before.get(text, now - _EVENT_SECONDS)
            if text not in before or now - before[text] < _EVENT_SECONDS:
                continue
            times[text] = now
            self._actor.log.warning("pod %s: volume is not refreshed: %s", full_name(pod), text)
            self._actor.tell(EVENT_CLIENT, pod_event(pod.metadata, "Warning", "FailedMount", text), deadline=60.0)
        if times:
            self._event_times[uid] = times

    async def _plan(self, uid: str, pod: Pod) -> tuple[list[Plan], list[int]]:
        """The plan of each volume, and the groups that the pod's processes need for its PersistentVolumes."""
        joined, pod_dir = not self._agent.standalone, self._agent.pod_dir(uid)
        with_memory = needs_node_memory(pod.spec.volumes, joined=joined)
        memory = await self._tools.allocatable.memory() if with_memory else 0
        claims = await self._claims.find(pod, pod_dir) if joined else {}
        context = PodContext(pod=pod, pod_dir=pod_dir, plugins_dir=self._agent.plugins_dir, node_memory=memory)
        bound = [one.persistent for one in claims.values() if isinstance(one, ClaimedVolume)]
        return plan(context, claims, joined=joined), supplemental_groups(bound)

    async def _set_up(self, pod: Pod, mounters: Iterable[Mounter], requested_at: float) -> dict[str, MountError]:
        """Set up all volumes concurrently. Errors by volume."""
        each = list(mounters)
        errors = await asyncio.gather(*(self._measure_set_up(pod, mounter, requested_at) for mounter in each))
        return {mounter.volume: error for mounter, error in zip(each, errors, strict=True) if error}

    async def _measure_set_up(self, pod: Pod, mounter: Mounter, requested_at: float) -> MountError | None:
        started = self._clock()
        try:
            found = await mounter.set_up(pod, self._tools)
        except OSError as failed:  # a file, or the mount table, that cannot be read: no fault of the pod
            found = error_text(failed)
        error = found if isinstance(found, MountError) else MountError(found) if found else None
        name = "map_volume" if mounter.is_device else "volume_mount"
        self._metrics.operation(name, mounter.measured_plugin, self._clock() - started, failed=error is not None)
        if error is None and not mounter.is_device:
            self._actor.metrics.observe(
                "volume_operation_total_seconds",
                self._clock() - requested_at,
                operation_name="overall_volume_mount",
                plugin_name=mounter.measured_plugin,
            )
        return error

    # -- subPath ------------------------------------------------------------------------------------------------------
    async def bind(self, message: BindSubPaths) -> SubPathsBound | VolumesFailed:
        """Bind the subPaths of a container."""
        if message.uid not in self._pods and message.pod:
            mounted, _ = await self.mount(message.uid, message.pod)
            if isinstance(mounted, VolumesFailed):
                return mounted
        mounters = self._pods.get(message.uid, PodVolumes()).mounters
        bindable = {name: mounter for name, mounter in mounters.items() if mounter.path}
        unknown = sorted({item.volume for item in message.items} - bindable.keys())
        if unknown:
            text = f"volumes {', '.join(unknown)} were not mounted by this incarnation: send MountVolumes again"
            return VolumesFailed(message.uid, text, unknown)
        paths: dict[int, str] = {}
        for item in message.items:
            mounter = bindable[item.volume]
            target = subpath_path(self._agent.pod_dir(message.uid), mounter.spec_name, message.container, item.index)
            arguments = {
                "volume": mounter.path,
                "path": item.path,
                "target": target,
                "follow": mounter.follows_link,
            }
            error = await self._tools.calls.run(mounter.path, _BIND, arguments)
            if error:
                text = f'failed to prepare subPath for volumeMount "{item.volume}" of container "{message.container}"'
                self._actor.log.warning("pod %s: %s: %s", message.uid, text, error)
                return VolumesFailed(message.uid, text, [item.volume])  # the error may name files of the host
            paths[item.index] = target
        return SubPathsBound(message.uid, message.container, paths)


def _inputs(pod: Pod, mounters: Iterable[Mounter]) -> ApiInputs:
    found = ApiInputs()
    for mounter in mounters:
        found |= mounter.inputs(pod)
    return found
