"""How users are told of volumes that cannot be had. Pure; in the reference's words, as users search for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .plan import Step, Unready


def texts(steps: Sequence[Step], failed: Mapping[str, str]) -> list[str]:
    """Those of the events: one for each volume that could not be made, and one for all of which it is not known yet
    what they are (claims). `failed`: why, by volume."""
    unready = {step.volume for step in steps if isinstance(step, Unready)} & failed.keys()
    found = [setup_failed(volume, why) for volume, why in failed.items() if volume not in unready]
    if unready:
        reasons = "; ".join(failed[volume] for volume in sorted(unready))
        found.append(f"Unable to attach or mount volumes: {_lists(failed, unready)}: {reasons}")
    return found


def setup_failed(volume: str, why: str) -> str:
    return f'MountVolume.SetUp failed for volume "{volume}" : {why}'


def _lists(unmounted: Mapping[str, str], unprocessed: set[str]) -> str:
    missing, unknown = " ".join(sorted(unmounted)), " ".join(sorted(unprocessed))
    return f"unmounted volumes=[{missing}], unattached volumes=[], failed to process volumes=[{unknown}]"
