"""PodCertificateRequest objects (certificates.k8s.io/v1beta1): built and read. Pure."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

import msgspec

from actors.shared.kube.credential_sources import PodCertificateProjection
from actors.shared.kube.meta import ObjectMeta
from actors.shared.kube.times import seconds
from actors.volume_manager.files import pem
from supervision.errors import UNREADABLE

from .states import RequestStatus

GROUP: Final = "/apis/certificates.k8s.io/v1beta1"


class WantedCertificate(msgspec.Struct, frozen=True):
    """A podCertificate source of a pod."""

    pod: ObjectMeta
    account: str
    """The name of the pod's service account."""
    source: PodCertificateProjection


class RequestIdentities(msgspec.Struct, frozen=True):
    """What the API server compares with its own objects, so that a certificate is not for a namesake."""

    account_uid: str
    node: str
    node_uid: str


def collection_path(namespace: str) -> str:
    return f"{GROUP}/namespaces/{quote(namespace, safe='')}/podcertificaterequests"


def account_path(wanted: WantedCertificate) -> str:
    namespace, name = quote(wanted.pod.namespace, safe=""), quote(wanted.account, safe="")
    return f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}"


def body(wanted: WantedCertificate, identities: RequestIdentities, proof: bytes) -> bytes:
    """JSON of the object. `proof`: a PKCS #10 request without content, in DER, signed by the new key."""
    pod, source = wanted.pod, wanted.source
    spec: dict[str, Any] = {
        "signerName": source.signerName,
        "podName": pod.name,
        "podUID": pod.uid,
        "serviceAccountName": wanted.account,
        "serviceAccountUID": identities.account_uid,
        "nodeName": identities.node,
        "nodeUID": identities.node_uid,
        "stubPKCS10Request": proof,  # msgspec encodes bytes as base64, as the API requires
    }
    if source.maxExpirationSeconds is not None:
        spec["maxExpirationSeconds"] = source.maxExpirationSeconds
    if source.userAnnotations:
        spec["unverifiedUserAnnotations"] = source.userAnnotations
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid}
    meta = {"namespace": pod.namespace, "generateName": "req-", "ownerReferences": [owner]}
    return msgspec.json.encode(
        {
            "apiVersion": "certificates.k8s.io/v1beta1",
            "kind": "PodCertificateRequest",
            "metadata": meta,
            "spec": spec,
        }
    )


# -- reading ----------------------------------------------------------------------------------------------------------
class _Condition(msgspec.Struct):
    type: str = ""
    reason: str = ""
    message: str = ""


class _Status(msgspec.Struct):
    conditions: list[_Condition] | None = None
    certificateChain: str = ""
    beginRefreshAt: str | None = None
    notAfter: str | None = None


class _Request(msgspec.Struct):
    status: _Status = msgspec.field(default_factory=_Status)


class _Named(msgspec.Struct):
    metadata: ObjectMeta


class UnreadableRequest(ValueError):
    """The object cannot be read."""


def read_meta(answer: bytes) -> ObjectMeta:
    """The metadata of any object. Raises UnreadableRequest."""
    try:
        return msgspec.json.decode(answer, type=_Named).metadata
    except UNREADABLE as error:
        raise UnreadableRequest(str(error)[:200]) from None


def read_status(answer: bytes) -> RequestStatus:
    """Raises UnreadableRequest, also for one that is issued without its times."""
    try:
        status = msgspec.json.decode(answer, type=_Request).status
    except UNREADABLE as error:
        raise UnreadableRequest(str(error)[:200]) from None
    for condition in status.conditions or ():
        if condition.type == "Denied":
            return RequestStatus("denied", condition.reason, condition.message)
        if condition.type == "Failed":
            return RequestStatus("failed", condition.reason, condition.message)
        if condition.type == "Issued":
            return _issued(status)
    return RequestStatus()


def _issued(status: _Status) -> RequestStatus:
    """The certificates are written again, without what is between them."""
    chain = b"".join(map(pem.certificate, pem.blocks(status.certificateChain)))
    renew_at, ends_at = seconds(status.beginRefreshAt), seconds(status.notAfter)
    if not chain or not renew_at or not ends_at:
        raise UnreadableRequest("it is issued without a certificate, or without beginRefreshAt or notAfter")
    return RequestStatus("issued", chain=chain, renew_at=renew_at, ends_at=ends_at)
