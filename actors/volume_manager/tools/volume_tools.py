"""The tools of mounters, as one value."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from actors.volume_manager.csi.volumes import CsiVolumes
from actors.volume_manager.flex_volume.drivers import FlexDrivers
from actors.volume_manager.pod_certificates.certificates import PodCertificates

from .fs_group import FsGroup
from .in_use_report import InUseReport
from .local_devices import LocalDevices
from .node_allocatable import AllocatableLookup
from .staged_disks import StagedDisks
from .system_calls import DisposableCalls
from .tmpfs_mounts import TmpfsMounts
from .volume_objects import VolumeObjects


class VolumeTools(msgspec.Struct, frozen=True, kw_only=True):
    calls: DisposableCalls
    memory: TmpfsMounts
    fs_group: FsGroup
    local_devices: LocalDevices
    disks: StagedDisks
    in_use: InUseReport
    flex_drivers: FlexDrivers
    allocatable: AllocatableLookup
    api: VolumeObjects
    certificates: PodCertificates | None
    """None without the gate PodCertificateRequest, and on a standalone node."""
    csi: CsiVolumes | None
    """None on a standalone node."""
    stamp: Callable[[], str]
    """Returns a unique text."""
    attach_controller_of: str = ""
    """The name of this node, if the attach controller attaches its volumes; '' if nobody has to."""
    mounter: str = ""
    """--experimental-mounter-path: the program that runs mount commands of network file systems; '' for none."""
