"""Reads which claims the volumes of a pod come from: the volume manager keeps a file in the pod's directory."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from supervision.errors import UNREADABLE
from supervision.state_file import read_private


class _VolumeName(msgspec.Struct, frozen=True):
    name: str


class _ClaimName(msgspec.Struct, frozen=True):
    name: str = ""


class _VolumeSource(msgspec.Struct, frozen=True):
    claimRef: _ClaimName | None = None


class _Volume(msgspec.Struct, frozen=True):
    """The fields of a PersistentVolume that are read here."""

    metadata: _VolumeName
    spec: _VolumeSource


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
        saved = msgspec.json.decode(read_private(claims_file(pod_dir)), type=dict[str, _Volume])
    except (OSError, *UNREADABLE):
        return {}
    return {
        one.metadata.name: ClaimedName(volume, one.spec.claimRef.name if one.spec.claimRef is not None else "")
        for volume, one in saved.items()
    }
