"""Reads which claims the volumes of a pod come from: the volume manager keeps a file in the pod's directory."""

from __future__ import annotations

import json
from typing import NamedTuple

from supervision.state_file import read_private


class ClaimedName(NamedTuple):
    volume: str
    """Its name in the pod."""
    claim: str
    """'' in the file of an older agent."""


def claims_file(pod_dir: str) -> str:
    """JSON: the PersistentVolume of each volume that has a claim, by the volume's name in the pod."""
    return f"{pod_dir}/plugins/persistent_volumes.json"


def claimed_names(pod_dir: str) -> dict[str, ClaimedName]:
    """The claims by name of the PersistentVolume; {} without a file that can be read."""
    try:
        saved = json.loads(read_private(claims_file(pod_dir)))
        return {
            one["metadata"]["name"]: ClaimedName(volume, one["spec"].get("claimRef", {}).get("name", ""))
            for volume, one in saved.items()
        }
    except (OSError, ValueError, LookupError, AttributeError, TypeError):
        return {}
