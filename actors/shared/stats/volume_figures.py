"""The figures of a volume that its CSI driver measures."""

from __future__ import annotations

import msgspec


class VolumeFigures(msgspec.Struct, frozen=True, kw_only=True):
    """A volume that its CSI driver measures."""

    uid: str
    """The UID of the pod."""
    folder: str
    """Below the pod's `volumes` or `volumeDevices`, as in `kubernetes.io~csi/pv-1`."""
    volume: str
    """Its name in the pod."""
    claim: str
    """'' for an inline volume."""
    driver: str
    figures: dict[str, int] | None = None
    """`capacity_bytes`, `available_bytes`, `used_bytes`, `inodes`, `inodes_free`, `inodes_used`; a driver may omit
    some. None: the driver has not answered."""
    abnormal: bool | None = None
    """Whether the driver reports the volume as unhealthy; None: it was not asked."""
    seconds: float = 0.0
    """How long the driver took."""
