"""The file dra_manager_state, in the kubelet's format. Pure.

`{"Data":"<JSON>","Checksum":<CRC-32 of Data>}`; Data is the kubelet's DRACheckpoint v1.
"""

from __future__ import annotations

import zlib
from typing import Final

import msgspec

from supervision.errors import UNREADABLE

from .claims import ClaimInfo, Claims, PreparedDevice

KIND: Final = "DRACheckpoint"
VERSION: Final = "checkpoint.dra.kubelet.k8s.io/v1"


class ClaimCheckpointError(ValueError):
    """The bytes are not such a file; the text has the reason."""


class _File(msgspec.Struct, frozen=True):
    Data: str
    Checksum: int


class _Device(msgspec.Struct, frozen=True):
    PoolName: str = ""
    DeviceName: str = ""
    ShareID: str | None = None
    RequestNames: list[str] | None = None
    CDIDeviceIDs: list[str] | None = None


class _Driver(msgspec.Struct, frozen=True):
    Devices: list[_Device] | None = None


class _Claim(msgspec.Struct, frozen=True):
    ClaimUID: str
    ClaimName: str
    Namespace: str
    PodUIDs: dict[str, dict[str, str]] | None = None
    DriverState: dict[str, _Driver] | None = None


class _Data(msgspec.Struct, frozen=True):
    kind: str = KIND
    apiVersion: str = VERSION
    ClaimInfoStateList: list[_Claim] | None = None


def encode(claims: Claims) -> bytes:
    """The file of these claims. The same claims make the same bytes."""
    data = _Data(ClaimInfoStateList=[_encode_claim(claims.by_key[key]) for key in sorted(claims.by_key)])
    text = msgspec.json.encode(data)
    return msgspec.json.encode(_File(text.decode(), zlib.crc32(text)))


def decode(raw: bytes) -> Claims:
    """The claims of a file; none of them counts as prepared. Raises ClaimCheckpointError."""
    try:
        file = msgspec.json.decode(raw, type=_File)
        if zlib.crc32(file.Data.encode()) != file.Checksum:
            raise ClaimCheckpointError("checkpoint is corrupted: its Checksum is not that of its Data")
        data = msgspec.json.decode(file.Data, type=_Data)
    except ClaimCheckpointError:
        raise
    except UNREADABLE as error:
        raise ClaimCheckpointError(str(error)) from None
    if (data.kind, data.apiVersion) != (KIND, VERSION):
        raise ClaimCheckpointError(f"{data.apiVersion} {data.kind} is not {VERSION} {KIND}")
    found = [_decode_claim(claim) for claim in data.ClaimInfoStateList or []]
    return Claims({claim.key: claim for claim in found})


def _encode_claim(claim: ClaimInfo) -> _Claim:
    return _Claim(
        claim.uid,
        claim.name,
        claim.namespace,
        {uid: {} for uid in sorted(claim.pods)},
        {
            driver: _Driver(
                [
                    _Device(one.pool, one.device, one.share_id, list(one.requests), list(one.cdi_ids))
                    for one in claim.drivers[driver]
                ]
            )
            for driver in sorted(claim.drivers)
        },
    )


def _decode_claim(claim: _Claim) -> ClaimInfo:
    return ClaimInfo(
        uid=claim.ClaimUID,
        name=claim.ClaimName,
        namespace=claim.Namespace,
        pods=frozenset(claim.PodUIDs or {}),
        drivers={driver: tuple(map(_device, of.Devices or [])) for driver, of in (claim.DriverState or {}).items()},
    )


def _device(one: _Device) -> PreparedDevice:
    return PreparedDevice(
        pool=one.PoolName,
        device=one.DeviceName,
        share_id=one.ShareID,
        requests=tuple(one.RequestNames or ()),
        cdi_ids=tuple(one.CDIDeviceIDs or ()),
    )
