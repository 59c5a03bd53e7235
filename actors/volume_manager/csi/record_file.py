"""The file of one CSI volume's record, vol_data.json, which a kubelet can read too."""

from __future__ import annotations

import os

import msgspec

from supervision.errors import UNREADABLE
from supervision.state_file import NotAFileError, read_private, write_private

from .model import DATA, VolumeRecord


class _EarlierRecord(VolumeRecord, frozen=True, kw_only=True):
    """A record in the form of an earlier version, which kubelets cannot read."""

    ready: bool = False


def read(folder: str) -> VolumeRecord | None:
    """None: there is none, or it is damaged. Raises OSError when that cannot be seen: a volume whose record cannot be
    read may be in use."""
    try:
        known = msgspec.json.decode(read_private(f"{folder}/{DATA}"), type=_EarlierRecord)
    except (FileNotFoundError, NotADirectoryError, NotAFileError, *UNREADABLE):
        return None
    values = {name: getattr(known, name) for name in VolumeRecord.__struct_fields__}
    return VolumeRecord(**{**values, "state": "published" if known.ready else known.state})


def write(folder: str, record: VolumeRecord) -> None:
    """Write the record atomically, unless it is there already. Raises OSError."""
    if read(folder) == record:
        return
    os.makedirs(folder, 0o750, exist_ok=True)
    write_private(f"{folder}/{DATA}", msgspec.json.encode(record))
