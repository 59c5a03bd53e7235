"""Objects of the API server that CSI volumes depend on: CSIDriver, VolumeAttachment, Secret, claims and volumes."""

from __future__ import annotations

from typing import Any, Final, TypeVar
from urllib.parse import quote

import msgspec

from actors.api_clients.kube_client.messages import KUBE_CLIENT, ApiAnswer, ApiCall, GetObject, ObjectRef
from actors.shared.api.permission import when_permitted
from actors.shared.kube.codec import ObjectError, decode
from actors.shared.kube.contents import secret_data
from actors.shared.kube.meta import Api, ObjectMeta
from actors.shared.kube.persistent_volumes import PersistentVolume, PersistentVolumeClaim
from supervision.actor import Actor, AskError

from .errors import CsiError, ExhaustedError, NotAttachedError, PlainError
from .model import PERSISTENT, SecretName

CALL_SECONDS: Final = 12.0
STORAGE: Final = "/apis/storage.k8s.io/v1"
MERGE_PATCH: Final = "application/merge-patch+json"
RESOURCE_EXHAUSTED: Final = 8
"""gRPC's number: the answer of a driver to an attach beyond the node's limit."""
T = TypeVar("T", bound=Api)


class TokenRequest(Api, frozen=True):
    audience: str = ""
    expirationSeconds: int | None = None


class DriverSpec(Api, frozen=True):
    """The spec of a CSIDriver; a driver without one has these defaults."""

    attachRequired: bool = True
    podInfoOnMount: bool = False
    volumeLifecycleModes: tuple[str, ...] = (PERSISTENT,)
    fsGroupPolicy: str = "ReadWriteOnceWithFSType"
    tokenRequests: tuple[TokenRequest, ...] = ()
    requiresRepublish: bool = False
    serviceAccountTokenInSecrets: bool = False
    nodeAllocatableUpdatePeriodSeconds: int | None = None
    exists: bool = True
    """Not a field of the API: whether there is a CSIDriver object."""


class _CSIDriver(Api, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: DriverSpec = DriverSpec()


class _AttachError(Api, frozen=True):
    message: str = ""
    errorCode: int | None = None


class _AttachStatus(Api, frozen=True):
    attached: bool = False
    attachmentMetadata: dict[str, str] = {}
    attachError: _AttachError | None = None


class _NodeStatus(Api, frozen=True):
    volumesInUse: list[str] = []


class _Node(Api, frozen=True):
    status: _NodeStatus = _NodeStatus()


class _Attachment(Api, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    status: _AttachStatus = _AttachStatus()


class ApiObjects:
    """Reads through kube_client. Each method raises CsiError."""

    def __init__(self, actor: Actor) -> None:
        self._actor = actor

    async def driver(self, name: str) -> DriverSpec:
        answer = await self.call("GET", f"{STORAGE}/csidrivers/{quote(name, safe='')}")
        if answer.reason == "NotFound":
            return DriverSpec(exists=False)
        return _decode(_body_of(answer, f"CSIDriver {name}"), _CSIDriver).spec

    async def watched_driver(self, name: str) -> DriverSpec:
        """The CSIDriver from kube_client's watch of all CSIDrivers, which the first call starts."""
        ref = ObjectRef("CSIDriver", name)
        try:
            state = await self._actor.ask(KUBE_CLIENT, GetObject(ref), timeout=CALL_SECONDS)
        except AskError as error:
            raise CsiError(f"{KUBE_CLIENT}: {error}") from None
        if state.body:
            return _decode(state.body, _CSIDriver).spec
        if state.reason == "NotFound":
            return DriverSpec(exists=False)
        raise CsiError(f"CSIDriver {name}: {state.reason}: {state.message}")

    async def attached(self, name: str, what: str) -> dict[str, str]:
        """The publish context of the VolumeAttachment. Raises NotAttachedError, or ExhaustedError if the node has no
        room for it.
        """
        answer = await self.call("GET", f"{STORAGE}/volumeattachments/{quote(name, safe='')}")
        if answer.reason in ("NotFound", "Forbidden"):  # the node authorizer knows no such object
            raise NotAttachedError(f"{what} is not attached yet: {answer.reason}: {answer.message}")
        found = _decode(_body_of(answer, f"VolumeAttachment {name}"), _Attachment)
        status = found.status
        if found.metadata.deletionTimestamp is not None:
            raise NotAttachedError(f"{what} is being detached from this node")
        if not status.attached:
            found_error = status.attachError or _AttachError()
            why = f": {found_error.message}" if found_error.message else ""
            kind = ExhaustedError if found_error.errorCode == RESOURCE_EXHAUSTED else NotAttachedError
            raise kind(f"{what} is not attached yet{why}")
        return status.attachmentMetadata

    async def check_in_use(self, node: str, name: str) -> None:
        """Raises NotAttachedError unless the node's status lists the volume as in use, which keeps it attached."""
        answer = await self.call("GET", f"/api/v1/nodes/{quote(node, safe='')}")
        if name not in _decode(_body_of(answer, f"node {node}"), _Node).status.volumesInUse:
            text = "Volume has not been added to the list of VolumesInUse in the node's volume status"
            raise NotAttachedError(f"{text}: {name}")

    async def claim(self, namespace: str, name: str) -> PersistentVolumeClaim:
        answer = await self.call("GET", _claim_path(namespace, name))
        return _decode(_body_of(answer, f"PVC {namespace}/{name}"), PersistentVolumeClaim)

    async def persistent_volume(self, name: str) -> PersistentVolume:
        answer = await self.call("GET", f"/api/v1/persistentvolumes/{quote(name, safe='')}")
        return _decode(_body_of(answer, f"PV {name}"), PersistentVolume)

    async def patch_claim_status(self, claim: PersistentVolumeClaim, status: dict[str, Any]) -> PersistentVolumeClaim:
        """Patch the status of this version of the claim. `status`: a merge patch. Returns the new claim."""
        meta = claim.metadata
        body = {"metadata": {"resourceVersion": meta.resourceVersion}, "status": status}
        answer = await self.call("PATCH", f"{_claim_path(meta.namespace, meta.name)}/status", body, MERGE_PATCH)
        return _decode(_body_of(answer, f"PVC {meta.namespace}/{meta.name}"), PersistentVolumeClaim)

    async def secret(self, of: SecretName | None, field: str) -> dict[str, str]:
        """`field`: the field of the volume that refers to the Secret. Raises PlainError."""
        if of is None:
            return {}
        path = f"/api/v1/namespaces/{quote(of.namespace, safe='')}/secrets/{quote(of.name, safe='')}"
        failed = f"fetching {field} {of.namespace}/{of.name} failed"
        try:
            answer = await when_permitted(lambda: self.call("GET", path))
            if not answer.ok:
                why = answer.message or answer.reason or answer.status
                what = f"failed to find the secret {of.name} in the namespace {of.namespace}"
                raise PlainError(f"{failed}: kubernetes.io/csi: {what} with error: {why}")
            return {key: value.decode() for key, value in secret_data(answer.body).items()}
        except (ObjectError, UnicodeDecodeError) as error:
            raise PlainError(f"{failed}: {error}") from None

    async def call(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> ApiAnswer:
        data = msgspec.json.encode(body) if body is not None else b""
        call = ApiCall(method=method, path=path, body=data, content_type=content_type)
        try:
            return await self._actor.ask(KUBE_CLIENT, call, timeout=CALL_SECONDS)
        except AskError as error:
            raise CsiError(f"{KUBE_CLIENT}: {error}") from None


def _claim_path(namespace: str, name: str) -> str:
    return f"/api/v1/namespaces/{quote(namespace, safe='')}/persistentvolumeclaims/{quote(name, safe='')}"


def _body_of(answer: ApiAnswer, what: str) -> bytes:
    if not answer.ok:
        raise CsiError(f"{what}: {answer.reason or answer.status}: {answer.message}")
    return answer.body


def _decode(body: bytes, kind: type[T]) -> T:
    try:
        return decode(body, kind)
    except ObjectError as error:
        raise CsiError(f"{kind.__name__.lstrip('_')}: {error}") from None
