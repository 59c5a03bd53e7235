"""Events of volumes that cannot be mounted, with the kubelet's texts, which users search for. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Final

import msgspec

from .messages import VolumeEvent

SET_UP: Final = "MountVolume.SetUp"
NEW_MOUNTER: Final = "MountVolume.NewMounter initialization"
WAIT_FOR_ATTACH: Final = "MountVolume.WaitForAttach"
WAIT_FOR_DEVICE: Final = "MapVolume.WaitForAttach"
MOUNT_DEVICE: Final = "MountVolume.MountDevice"
"""Failed for all pods of the node that use the volume."""
SET_UP_DEVICE: Final = "MapVolume.SetUpDevice"
"""Like MOUNT_DEVICE, for a volume that pods use as a device."""
MAP_DEVICE: Final = "MapVolume.MapPodDevice"
MAP_BLOCK: Final = "MapVolume.MapBlockVolume"
CHECK_NODE: Final = "MountVolume.NodeAffinity check"
CHECK_NODE_OF_DEVICE: Final = "MapVolume.NodeAffinity check"
CHECK_OPTIONS: Final = "MountVolume.MountOptionSupport check"
EXPAND: Final = "MountVolume.Setup failed while expanding volume"
EXPAND_DEVICE: Final = "MapVolume.MarkVolumeAsMounted failed while expanding volume"
_MAPS: Final = (WAIT_FOR_DEVICE, SET_UP_DEVICE, MAP_DEVICE, MAP_BLOCK, EXPAND_DEVICE)
_EXPANSIONS: Final = (EXPAND, EXPAND_DEVICE)


class MountError(msgspec.Struct, frozen=True):
    """A volume is not mounted. `operation`: what failed; `waits`: nothing failed, but the volume is not attached yet;
    `exhausted`: the node cannot have more volumes attached.
    """

    text: str
    operation: str = SET_UP
    waits: bool = False
    exhausted: bool = False


def failure(name: str, error: MountError) -> str:
    """`name`: the PersistentVolume's, or the volume's in the pod."""
    failed = error.operation if error.operation in _EXPANSIONS else f"{error.operation} failed"
    return f'{failed} for volume "{name}" : {error.text}'


def event_of(name: str, error: MountError) -> VolumeEvent:
    return VolumeEvent("FailedMapVolume" if error.operation in _MAPS else "FailedMount", failure(name, error))


def events_of(failed: Mapping[str, MountError], names: Mapping[str, str], pending: Set[str]) -> list[VolumeEvent]:
    """One event for each volume that could not be mounted, none for a volume that waits, and one for all of `pending`
    (claims without a volume). `failed`: the error by volume; `names`: by volume, its name in events if that differs
    from its name in the pod.
    """
    found = [
        event_of(names.get(volume, volume), error)
        for volume, error in failed.items()
        if volume not in pending and not error.waits
    ]
    unprocessed = failed.keys() & pending
    if unprocessed:
        reasons = "; ".join(failed[volume].text for volume in sorted(unprocessed))
        lists = _lists(failed, unattached(failed), unprocessed)
        found.append(VolumeEvent("FailedMount", f"Unable to attach or mount volumes: {lists}: {reasons}"))
    return found


def unattached(failed: Mapping[str, MountError]) -> list[str]:
    """The volumes that are not attached yet."""
    return sorted(volume for volume, error in failed.items() if error.waits)


def _lists(*volumes: Iterable[str]) -> str:
    """The lists of unmounted, unattached and unprocessed volumes."""
    lists = (" ".join(sorted(each)) for each in volumes)
    return "unmounted volumes=[{}], unattached volumes=[{}], failed to process volumes=[{}]".format(*lists)
