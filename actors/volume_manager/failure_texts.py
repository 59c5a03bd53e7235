"""How users are told of volumes that cannot be mounted. Pure; in the reference's words, which users search for."""

from __future__ import annotations

from collections.abc import Mapping, Set


def event_texts(failed: Mapping[str, str], unready: Set[str]) -> list[str]:
    """A text for each volume that could not be mounted, and one for all of `unready` (claims without a volume).

    `failed`: why, by volume.
    """
    found = [setup_failed(volume, why) for volume, why in failed.items() if volume not in unready]
    unprocessed = failed.keys() & unready
    if unprocessed:
        reasons = "; ".join(failed[volume] for volume in sorted(unprocessed))
        found.append(f"Unable to attach or mount volumes: {_lists(failed, unprocessed)}: {reasons}")
    return found


def setup_failed(volume: str, why: str) -> str:
    return f'MountVolume.SetUp failed for volume "{volume}" : {why}'


def _lists(unmounted: Mapping[str, str], unprocessed: Set[str]) -> str:
    missing, unknown = " ".join(sorted(unmounted)), " ".join(sorted(unprocessed))
    return f"unmounted volumes=[{missing}], unattached volumes=[], failed to process volumes=[{unknown}]"
