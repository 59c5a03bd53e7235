"""CertificateSigningRequest objects (certificates.k8s.io/v1): builds and reads them. Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final

import msgspec

from supervision.errors import UNREADABLE

PATH: Final = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
CLIENT_SIGNER: Final = "kubernetes.io/kube-apiserver-client-kubelet"
SERVING_SIGNER: Final = "kubernetes.io/kubelet-serving"


class RequestState(StrEnum):
    PENDING = "pending"
    """Not approved or denied yet, or approved and not signed yet."""
    DENIED = "denied"
    FAILED = "failed"
    """The signer could not sign it, or refused to."""
    ISSUED = "issued"
    UNKNOWN = "unknown"
    """The answer is not a CertificateSigningRequest."""


class SigningRequest(msgspec.Struct, frozen=True):
    """A request as the API server has it."""

    state: RequestState
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
    """base64 in JSON; msgspec decodes it."""


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
        # msgspec encodes bytes as base64, as the API requires
        "spec": {"request": request, "signerName": signer, "usages": usages},
    }
    return msgspec.json.encode(document)


def read(answer: bytes) -> SigningRequest:
    """Read a request from the JSON of the API server. A denial takes precedence over an earlier certificate."""
    try:
        request = msgspec.json.decode(answer, type=_Request)
    except UNREADABLE as error:
        return SigningRequest(RequestState.UNKNOWN, text=str(error)[:200])
    status, version = request.status or _Status(), request.metadata.resourceVersion
    for kind, state in (("Denied", RequestState.DENIED), ("Failed", RequestState.FAILED)):
        for condition in status.conditions or ():
            if condition.type == kind and condition.status != "False":
                text = ": ".join(part[:500] for part in (condition.reason, condition.message) if part)
                return SigningRequest(state, text=text, version=version)
    if status.certificate:
        return SigningRequest(RequestState.ISSUED, status.certificate, version=version)
    return SigningRequest(RequestState.PENDING, version=version)
