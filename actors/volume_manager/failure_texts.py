"""The texts of events for volumes that cannot be mounted: the kubelet's, which users search for. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Set


def event_texts(failed: Mapping[str, str], pending: Set[str]) -> list[str]:
    """A text for each volume that could not be mounted, and one for all of `pending` (claims without a volume).

    `failed`: the error by volume.
    """
    found = [setup_failed(volume, why) for volume, why in failed.items() if volume not in pending]
    unprocessed = failed.keys() & pending
    if unprocessed:
        reasons = "; ".join(failed[volume] for volume in sorted(unprocessed))
        found.append(f"Unable to attach or mount volumes: {_lists(failed, unprocessed)}: {reasons}")
    return found


def setup_failed(volume: str, why: str) -> str:
    return f'MountVolume.SetUp failed for volume "{volume}" : {why}'


def _lists(unmounted: Mapping[str, str], unprocessed: Set[str]) -> str:
    missing, unknown = " ".join(sorted(unmounted)), " ".join(sorted(unprocessed))
    return f"unmounted volumes=[{missing}], unattached volumes=[], failed to process volumes=[{unknown}]"
