"""CertificateSigningRequest objects (certificates.k8s.io/v1): what is sent, and what comes back. Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

import msgspec

from supervision.errors import UNREADABLE

PATH: Final = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
CLIENT_SIGNER: Final = "kubernetes.io/kube-apiserver-client-kubelet"
SERVING_SIGNER: Final = "kubernetes.io/kubelet-serving"


class Standing(StrEnum):
    PENDING = "pending"
    """Nobody has decided, or it is approved and not signed yet."""
    DENIED = "denied"
    FAILED = "failed"
    """The signer could not, or would not."""
    ISSUED = "issued"
    UNKNOWN = "unknown"
    """That was no CertificateSigningRequest."""


class Seen(msgspec.Struct, frozen=True):
    """A request as the server has it."""

    standing: Standing
    certificate: bytes = b""
    """PEM, when issued."""
    text: str = ""
    """Reason and message of a denial or failure."""
    version: str = ""
    """resourceVersion."""


class _Condition(msgspec.Struct):
    type: str = ""
    status: str = "True"
    reason: str = ""
    message: str = ""


class _Status(msgspec.Struct):
    conditions: list[_Condition] | None = None
    certificate: bytes | None = None
    """base64, which msgspec undoes."""


class _Metadata(msgspec.Struct):
    resourceVersion: str = ""


class _Request(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    status: _Status | None = None


def body(name: str, request: bytes, signer: str, usages: list[str]) -> bytes:
    """JSON of the object. `request` is PEM (PKCS #10)."""
    document: dict[str, Any] = {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": name},
        # bytes are encoded as base64, as the API has them
        "spec": {"request": request, "signerName": signer, "usages": usages},
    }
    return msgspec.json.encode(document)


def read(answer: bytes) -> Seen:
    """A denial wins over a certificate that came before it."""
    try:
        found = msgspec.json.decode(answer, type=_Request)
    except UNREADABLE as error:
        return Seen(Standing.UNKNOWN, text=str(error)[:200])
    status, version = found.status or _Status(), found.metadata.resourceVersion
    for kind, standing in (("Denied", Standing.DENIED), ("Failed", Standing.FAILED)):
        for condition in status.conditions or ():
            if condition.type == kind and condition.status != "False":
                text = ": ".join(part[:500] for part in (condition.reason, condition.message) if part)
                return Seen(standing, text=text, version=version)
    if status.certificate:
        return Seen(Standing.ISSUED, status.certificate, version=version)
    return Seen(Standing.PENDING, version=version)
