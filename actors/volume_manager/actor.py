"""The volume manager: mounts a pod's volumes, and unmounts them when its containers are gone.

It recovers all its state after a restart: mounts are in the mount table, and each order has all data about the pod.
Every system call that may hang runs in a disposable process, one per volume.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, cast

from actors.api_clients.heartbeat_client.messages import HEARTBEAT_CLIENT
from actors.api_clients.kube_client.messages import ObjectChanged, TrustBundlesChanged
from actors.device_manager.messages import DEVICE_MANAGER, GetPlugin
from actors.pod_workers.messages import ShardPods
from actors.shared.config.agent import Agent
from actors.shared.input_quarantine import InputQuarantine
from actors.shared.keyed_locks import KeyedLocks
from actors.shared.kube.credential_sources import POD_CERTIFICATE_GATE
from actors.shared.plugins.model import CSI, Plugin
from actors.shared.plugins.watch import PluginWatch
from supervision.actor import Actor, Address, AskError, on
from supervision.addresses import ActorName
from supervision.errors import error_text
from supervision.protocol import GetMetrics, MetricsSnapshot

from . import shared_directories
from .csi.api_objects import ApiObjects
from .csi.drivers import CsiDrivers
from .csi.node_objects import NodeObjects
from .csi.records import Records
from .csi.volume_stats import DriverMeasurements
from .csi.volumes import CsiContext, CsiVolumes
from .flex_volume.drivers import FlexDrivers
from .messages import (
    BindSubPaths,
    DriverFigures,
    GetVolumeFigures,
    MountVolumes,
    SubPathsBound,
    UnmountVolumes,
    VolumesFailed,
    VolumesMounted,
    VolumesUnmounted,
)
from .orphan_sweep import SWEEP_SECONDS, OrphanSweep
from .pod_certificates.api import CertificateApi
from .pod_certificates.certificates import PodCertificates
from .pod_mounts import PodMounts
from .teardown import Teardown
from .tools.fs_group import FsGroup
from .tools.in_use_report import InUseReport
from .tools.local_devices import LocalDevices
from .tools.node_allocatable import AllocatableLookup
from .tools.staged_disks import StagedDisks
from .tools.system_calls import DisposableCalls
from .tools.tmpfs_mounts import TmpfsMounts
from .tools.volume_objects import VolumeObjects
from .tools.volume_tools import VolumeTools
from .volume_paths import is_name, is_uid, shared_paths
from .volume_refresh import Refresh

IDENTITY_SECONDS: Final = 3.0
"""How long the device manager may take to say what a plugin is; then the plugin is asked from here, too."""


def _stamp() -> str:
    now = time.time_ns()
    return f"{time.strftime('%Y_%m_%d_%H_%M_%S', time.gmtime(now // 10**9))}.{now % 10**9:09d}"


class VolumeManager(Actor):
    """See messages.py for its messages."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        stamp: Callable[[], str] = _stamp,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """`stamp` returns a unique text; `wall`: seconds since 1970."""
        super().__init__()
        self._clock, self._stamp, self._wall = clock, stamp, wall

    async def on_start(self) -> None:
        self._agent = agent = cast(Agent, self.context)
        self._locks = KeyedLocks()
        self._tools = tools = self._make_tools()
        self._mounts = PodMounts(self, agent, tools, self._clock)
        self._quarantine = InputQuarantine(self, agent.run_dir, "volumes")
        self._refresh = Refresh(self, agent, self._mounts, self._locks, self._quarantine)
        self._teardown = Teardown(self, agent, tools)
        self._orphans = OrphanSweep(self, agent, self._mounts, self._teardown, self._locks, self._clock)
        for path in shared_paths(agent):
            os.makedirs(path, 0o750, exist_ok=True)
            await shared_directories.share(self, path)
        await self._count_mounts()
        self._orphans.start()
        if tools.certificates is not None:
            tools.certificates.start()
        tools.disks.release_soon()  # those of an earlier incarnation
        if tools.csi is not None:
            self._refresh.start()
            self._plugins.start()
            self.start_task(self._drivers.make_csi_node(), "CSINode")
            tools.csi.start()
            self.every(SWEEP_SECONDS, tools.csi.sweep, jitter=0.1)

    def _make_tools(self) -> VolumeTools:
        agent = self._agent
        calls, api = DisposableCalls(self), VolumeObjects(self, agent.gate)
        fs_group, report = FsGroup(self, calls, self._clock), InUseReport(self, joined=not agent.standalone)
        attaches = not agent.standalone and agent.config.enableControllerAttachDetach
        return VolumeTools(
            calls=calls,
            memory=TmpfsMounts(self),
            fs_group=fs_group,
            local_devices=LocalDevices(self, calls, agent.pods_dir, agent.plugins_dir),
            disks=StagedDisks(self, calls, report, agent.pods_dir, agent.plugins_dir),
            in_use=report,
            attach_controller_of=agent.node_name if attaches else "",
            flex_drivers=FlexDrivers(calls, agent.config.volumePluginDir),
            allocatable=AllocatableLookup(self),
            api=api,
            certificates=self._make_certificates(api),
            csi=None if agent.standalone else self._make_csi(api, fs_group, report),
            stamp=self._stamp,
            mounter=str(agent.flags.get("experimental-mounter-path") or ""),
        )

    def _make_certificates(self, api: VolumeObjects) -> PodCertificates | None:
        agent = self._agent
        if agent.standalone or not agent.gate(POD_CERTIFICATE_GATE):
            return None
        certificate_api = CertificateApi(self, api, agent.node_name)
        return PodCertificates(self, certificate_api, self._refresh_soon, self._wall)

    def _refresh_soon(self, uid: str) -> None:
        self._refresh.refresh_soon(uid)

    def _make_csi(self, source: VolumeObjects, fs_group: FsGroup, report: InUseReport) -> CsiVolumes:
        agent, objects = self._agent, ApiObjects(self)
        self._drivers = drivers = CsiDrivers(self, NodeObjects(objects, agent.node_name))
        self._measurements = DriverMeasurements(
            self, drivers, self._clock,
            period=float(agent.config.volumeStatsAggPeriod), health=agent.gate("CSIVolumeHealth"),
        )  # fmt: skip
        self._plugins = PluginWatch(
            self, agent.plugins_registry_dir, {CSI: drivers}, elsewhere=None, learn=self._identify
        )
        records = Records(agent.pods_dir, agent.plugins_dir)
        report.add(records.in_use)
        return CsiVolumes(
            CsiContext(
                actor=self,
                drivers=drivers,
                api=objects,
                records=records,
                tokens=source.tokens,
                apply_group=fs_group.apply,
                node_name=agent.node_name,
                pods=self._locks,
                measurements=self._measurements,
                tell_in_use=report.tell,
                sync_seconds=float(agent.config.syncFrequency),
            )
        )

    async def _identify(self, socket: str) -> Plugin | None:
        """What the device manager was told by the plugin."""
        try:
            return (await self.ask(DEVICE_MANAGER, GetPlugin(socket), timeout=IDENTITY_SECONDS)).plugin
        except AskError:
            return None

    async def on_hello(self, name: ActorName) -> None:
        if name == HEARTBEAT_CLIENT:
            self._tools.in_use.tell()

    async def _count_mounts(self) -> None:
        """Count the mounts of earlier incarnations. They stay until the workers have reported their pods."""
        try:
            mounts = await self._teardown.mounts(self._agent.pods_dir)
        except OSError as error:
            self.log.warning("the mounts of an earlier incarnation are not counted: %s", error_text(error))
            return
        self.metrics.count("reconstruct_volume_operations_total", len(mounts))
        if mounts:
            self.log.info("found %d mounts of pods of an earlier incarnation", len(mounts))

    # -- orders of the workers ----------------------------------------------------------------------------------------
    @asynccontextmanager
    async def _exclusive(self, uid: str) -> AsyncIterator[None]:
        """Hold the pod's lock during an order of its worker. Afterwards the sweep removes a pod that no worker has."""
        self._orphans.order_received(uid)
        async with self._locks.hold(uid):
            try:
                yield
            finally:
                if self._orphans.forget_orphan(uid):
                    self._orphans.find()

    @on(MountVolumes)
    async def on_mount(self, message: MountVolumes, sender: Address) -> VolumesMounted | VolumesFailed:
        if not is_uid(message.uid):
            return VolumesFailed(message.uid, f"not a pod's UID: {message.uid!r}")
        if refusal := self._quarantine.refusal(message.uid, message.pod):
            return VolumesFailed(message.uid, refusal)
        async with self._exclusive(message.uid):
            work = self._mounts.mount(message.uid, message.pod)
            answer, unrefreshed = await self._quarantine.run(message.uid, message.pod, work)
        if unrefreshed:
            self._refresh.refresh_later(message.uid)
        return answer

    @on(BindSubPaths)
    async def on_bind(self, message: BindSubPaths, sender: Address) -> SubPathsBound | VolumesFailed:
        if not is_uid(message.uid) or not is_name(message.container):
            return VolumesFailed(message.uid, f"not a container: {message.uid!r} {message.container!r}")
        if refusal := self._quarantine.refusal(message.uid, message.pod):
            return VolumesFailed(message.uid, refusal)
        async with self._exclusive(message.uid):
            return await self._quarantine.run(message.uid, message.pod, self._mounts.bind(message))

    @on(UnmountVolumes)
    async def on_unmount(self, message: UnmountVolumes, sender: Address) -> VolumesUnmounted | VolumesFailed:
        if not is_uid(message.uid):
            return VolumesFailed(message.uid, f"not a pod's UID: {message.uid!r}")
        async with self._locks.hold(message.uid):
            started_at = self._clock()
            error = await self._teardown.volumes(message.uid)
        self._mounts.torn_down(message.uid, self._clock() - started_at, error)
        if error:
            return VolumesFailed(message.uid, error)
        self._mounts.forget(message.uid)
        return VolumesUnmounted(message.uid)

    @on(GetMetrics)
    def on_get_metrics(self, message: GetMetrics, sender: Address) -> MetricsSnapshot:
        if self._tools.certificates is not None:
            self._tools.certificates.measure()
        return self.metrics.snapshot(self.name, self.incarnation)

    @on(GetVolumeFigures)
    async def on_figures(self, message: GetVolumeFigures, sender: Address) -> DriverFigures:
        return DriverFigures(await self._measurements.measure() if self._tools.csi is not None else [])

    # -- facts from other actors --------------------------------------------------------------------------------------
    @on(ObjectChanged)
    def on_object(self, message: ObjectChanged, sender: Address) -> None:
        """A Secret or ConfigMap that pods of this node mount, or a PodCertificateRequest of this node."""
        if message.ref.kind != "PodCertificateRequest":
            self._refresh.object_changed(message.ref)
        elif self._tools.certificates is not None:
            self._tools.certificates.request_changed(message.ref)

    @on(TrustBundlesChanged)
    def on_trust_bundles(self, message: TrustBundlesChanged, sender: Address) -> None:
        self._refresh.trust_bundles_changed()

    @on(ShardPods)
    def on_shard_pods(self, message: ShardPods, sender: Address) -> None:
        self._orphans.pods_reported(message.worker, message.workers, message.uids)
