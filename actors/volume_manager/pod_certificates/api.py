"""What a request for a certificate needs of the API server, through kube_client."""

from __future__ import annotations

from actors.api_clients.kube_client.messages import ApiCall, ObjectRef
from actors.shared.api.permission import when_permitted
from actors.volume_manager.tools.volume_objects import VolumeObjects
from supervision.actor import Actor, DisposableError

from .requests import (
    RequestIdentities,
    UnreadableRequest,
    WantedCertificate,
    account_path,
    body,
    collection_path,
    read_meta,
    read_status,
)
from .states import RequestStatus

KEY_SECONDS = 60.0
"""The deadline for a new key: one of 4096 bits takes seconds on a busy machine."""
MAKE = "actors.volume_manager.pod_certificates.keys:make"


class CertificateApiError(Exception):
    """A request could not be made or looked at; the text says why, with the kubelet's words."""


class CertificateApi:
    def __init__(self, actor: Actor, objects: VolumeObjects, node: str) -> None:
        self._actor, self._objects, self._node = actor, objects, node

    async def create(self, wanted: WantedCertificate) -> tuple[str, bytes]:
        """Make a key, and a request for it. Returns the request's name and the key, in PEM.

        Raises CertificateApiError.
        """
        identities = RequestIdentities(await self._account_uid(wanted), self._node, await self._node_uid())
        made = await self._make(wanted.source.keyType)
        path = collection_path(wanted.pod.namespace)
        call = ApiCall(method="POST", path=path, body=body(wanted, identities, made["proof"]))
        answer = await self._objects.call(call)
        if not answer.ok:
            raise CertificateApiError(f"while creating on API: {answer.message or answer.reason or answer.status}")
        try:
            return read_meta(answer.body).name, made["key"]
        except UnreadableRequest as error:
            raise CertificateApiError(f"while creating on API: the answer cannot be read: {error}") from None

    async def look(self, namespace: str, name: str) -> RequestStatus | None:
        """None if the API server does not have it. Raises CertificateApiError."""
        found = await self._objects.object(ObjectRef("PodCertificateRequest", name, namespace))
        if found.reason == "NotFound":
            return None
        what = f'while getting PodCertificateRequest "{namespace}/{name}"'
        if not found.body:
            raise CertificateApiError(f"{what}: {found.message or found.reason}")
        try:
            return read_status(found.body)
        except UnreadableRequest as error:
            raise CertificateApiError(f"{what}: {error}") from None

    async def _account_uid(self, wanted: WantedCertificate) -> str:
        call = ApiCall(method="GET", path=account_path(wanted))
        answer = await when_permitted(lambda: self._objects.call(call), self._actor.pause)
        try:
            if answer.ok:
                return read_meta(answer.body).uid
            why = answer.message or answer.reason or str(answer.status)
        except UnreadableRequest as error:
            why = str(error)
        raise CertificateApiError(f"while fetching service account: {why}")

    async def _node_uid(self) -> str:
        found = await self._objects.object(ObjectRef("Node", self._node))
        try:
            if found.body:
                return read_meta(found.body).uid
            why = found.message or found.reason
        except UnreadableRequest as error:
            why = str(error)
        raise CertificateApiError(f"while getting node object from local cache: {why}")

    async def _make(self, key_type: str) -> dict[str, bytes]:
        try:
            made: dict[str, bytes] = await self._actor.disposable(MAKE, {"key_type": key_type}, deadline=KEY_SECONDS)
        except DisposableError as error:
            raise CertificateApiError(f"while generating keypair: {error.text}") from None
        return made
