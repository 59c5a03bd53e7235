"""The kubelet's file kubelet_internal_checkpoint: read and written, so that either agent continues from the other's
file.

    {"Data":{"PodDeviceEntries":[...],"RegisteredDevices":{"vendor/x":["id"]}},"Checksum":N}

The checksum is FNV-1a (32 bits) of a text dump of Data, in the form that Go's spew gives it.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from actors.shared.fnv import fnv1a_32
from supervision.errors import UNREADABLE
from supervision.state_file import read_private

from .holdings import Key, Share

NAME: Final = "kubelet_internal_checkpoint"


class PodDevicesEntry(msgspec.Struct, frozen=True):
    """One share; names of the file."""

    PodUID: str
    ContainerName: str
    ResourceName: str
    DeviceIDs: dict[int, list[str]]
    """By NUMA node; -1: none."""
    AllocResp: str | None = None
    """Base64 of the plugin's ContainerAllocateResponse."""


class Data(msgspec.Struct, frozen=True):
    PodDeviceEntries: list[PodDevicesEntry] | None = None
    RegisteredDevices: dict[str, list[str]] | None = None
    """Healthy devices by resource."""


class _File(msgspec.Struct, frozen=True):
    Data: Data
    Checksum: int


class DeviceCheckpointError(Exception):
    """The file cannot be used."""


class Checkpoint(msgspec.Struct, frozen=True):
    shares: dict[Key, Share]
    registered: list[str]
    """Resources."""
    warning: str = ""
    """The defect of a file that is used nevertheless."""


def read(path: Path) -> Checkpoint | None:
    """Read the checkpoint; None if there is no file. Raises DeviceCheckpointError, naming the file."""
    try:
        raw = read_private(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DeviceCheckpointError(f"{path} cannot be read: {error.strerror}") from None
    try:
        found = msgspec.json.decode(raw, type=_File, strict=False)
        shares = {
            Key(entry.PodUID, entry.ContainerName, entry.ResourceName): Share(
                {node: tuple(ids) for node, ids in entry.DeviceIDs.items()}, _bytes(entry.AllocResp)
            )
            for entry in found.Data.PodDeviceEntries or ()
        }
        wrong = checksum(found.Data) != found.Checksum
    except (*UNREADABLE, binascii.Error) as error:
        raise DeviceCheckpointError(f"{path} is damaged: {error}") from None
    warning = f"the checksum of {path} is wrong; its data reads well and is used" if wrong else ""
    return Checkpoint(shares, sorted(found.Data.RegisteredDevices or ()), warning)


def data_of(shares: Iterable[tuple[Key, Share]], registered: Mapping[str, Iterable[str]]) -> Data:
    """The content of the file. `registered`: healthy devices by resource."""
    entries = [
        PodDevicesEntry(
            key.uid,
            key.container,
            key.resource,
            {node: sorted(ids) for node, ids in sorted(share.devices.items())},
            base64.b64encode(share.response).decode("ascii"),
        )
        for key, share in shares
    ]
    return Data(entries or None, {name: sorted(ids) for name, ids in sorted(registered.items())})


def encode(data: Data) -> bytes:
    """The file."""
    return msgspec.json.encode(_File(data, checksum(data)))


def _bytes(text: str | None) -> bytes:
    """Raises binascii.Error."""
    return base64.b64decode(text or "", validate=True)


# -- checksum ---------------------------------------------------------------------------------------------------------
def checksum(data: Data) -> int:
    """Raises binascii.Error."""
    value = fnv1a_32("")
    for part in _dump(data):
        value = fnv1a_32(part.encode("utf-8", "surrogatepass"), value)
    return value


def _dump(data: Data) -> Iterator[str]:
    """In parts: the whole is some fifty times as large as the data."""
    yield "(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)"
    yield "<nil>" if data.PodDeviceEntries is None else "["
    for number, entry in enumerate(data.PodDeviceEntries or ()):
        yield f"{' ' if number else ''}{_entry(entry)}"
    registered = _go("map[", _pairs(data.RegisteredDevices or {}), missing=data.RegisteredDevices is None)
    yield f"{'' if data.PodDeviceEntries is None else ']'} RegisteredDevices:(map[string][]string){registered}}}"


def _entry(entry: PodDevicesEntry) -> str:
    response = _go("[", map(str, _bytes(entry.AllocResp)), missing=entry.AllocResp is None)
    return (
        f"{{PodUID:(string){entry.PodUID} ContainerName:(string){entry.ContainerName} "
        f"ResourceName:(string){entry.ResourceName} "
        f"DeviceIDs:(checkpoint.DevicesPerNUMA){_go('map[', _pairs(entry.DeviceIDs))} AllocResp:([]uint8){response}}}"
    )


def _pairs(table: Mapping[str, list[str]] | Mapping[int, list[str]]) -> list[str]:
    items: list[tuple[str | int, list[str]]] = sorted(table.items())
    return [f"{key}:{_go('[', ids)}" for key, ids in items]


def _go(opening: str, parts: Iterable[str], *, missing: bool = False) -> str:
    return "<nil>" if missing else f"{opening}{' '.join(parts)}]"
