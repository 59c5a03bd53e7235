"""The files of secret, configMap and projected volumes, from the objects that they name. Pure.

The messages are the kubelet's, which users search for.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from actors.api_clients.kube_client.messages import ObjectRef, ObjectState, TrustBundles
from actors.shared.kube.credential_sources import PodCertificateProjection
from actors.shared.kube.meta import KeyToPath
from actors.shared.kube.pod import Pod
from actors.shared.kube.pods import all_containers
from actors.shared.kube.quantity import QuantityError
from actors.shared.kube.volumes import SecretProjection, ServiceAccountTokenProjection, VolumeProjection
from actors.volume_manager.pod_certificates.states import PodCredentials
from supervision.errors import UNREADABLE

from . import downward_fields
from .content_error import ContentError
from .downward_fields import DownwardError, File
from .trust_anchors import BundleQuery, anchors, query_of

MINIMUM_TOKEN_SECONDS: Final = 600
DEFAULT_TOKEN_SECONDS: Final = 3600
_PRIVATE_MODE: Final = 0o600
"""The mode of files with tokens and certificates if the pod has an fsGroup or a single user, who owns the file."""


class PodTokenRequest(msgspec.Struct, frozen=True):
    """A service account token bound to the pod, valid for `seconds`."""

    namespace: str
    account: str
    audience: str
    seconds: int
    pod: str
    uid: str


class Content(msgspec.Struct, frozen=True):
    """The objects, tokens and resources that a volume's files come from."""

    objects: Mapping[ObjectRef, ObjectState] = {}
    tokens: Mapping[PodTokenRequest, str] = {}
    allocatable: Mapping[str, int] = {}
    bundles: Mapping[BundleQuery, TrustBundles] = {}
    order: bytes = b""
    """Decides the order of trust anchors, as in `trust_anchors.merged`."""
    certificates: Mapping[int, PodCredentials] = {}
    """By the index of the source."""


class _Data(msgspec.Struct):
    """The data of a Secret or ConfigMap."""

    data: dict[str, str | None] | None = None
    """null is an empty value: Go encodes nil bytes so."""
    binaryData: dict[str, str | None] | None = None


def objects_of(namespace: str, sources: Iterable[VolumeProjection]) -> list[ObjectRef]:
    found = []
    for source in sources:
        if source.secret is not None and source.secret.name:
            found.append(ObjectRef("Secret", source.secret.name, namespace))
        if source.configMap is not None and source.configMap.name:
            found.append(ObjectRef("ConfigMap", source.configMap.name, namespace))
    return found


def tokens_of(pod: Pod, sources: Iterable[VolumeProjection]) -> list[PodTokenRequest]:
    wanted = (source.serviceAccountToken for source in sources)
    return [_token_request(pod, token) for token in wanted if token is not None]


def bundles_of(sources: Iterable[VolumeProjection]) -> list[BundleQuery]:
    """The queries, each once."""
    wanted = (source.clusterTrustBundle for source in sources)
    queries = (query_of(bundle) for bundle in wanted if bundle is not None)
    return list(dict.fromkeys(query for query in queries if query is not None))


def certificates_of(sources: Iterable[VolumeProjection]) -> list[int]:
    """The indexes of the podCertificate sources."""
    return [index for index, source in enumerate(sources) if source.podCertificate is not None]


def _token_request(pod: Pod, token: ServiceAccountTokenProjection) -> PodTokenRequest:
    meta = pod.metadata
    return PodTokenRequest(
        meta.namespace,
        pod.spec.serviceAccountName or "default",
        token.audience,
        max(MINIMUM_TOKEN_SECONDS, token.expirationSeconds or DEFAULT_TOKEN_SECONDS),
        meta.name,
        meta.uid,
    )


def files(pod: Pod, sources: Iterable[VolumeProjection], mode: int, given: Content) -> list[File]:
    """The files. If several sources have the same path, the last one wins. Raises ContentError, which names the error
    of each source."""
    found: dict[str, File] = {}
    wrong: dict[str, None] = {}
    for index, source in enumerate(sources):
        try:
            found |= {file.path: file for file in _files_of(pod, index, source, mode, given)}
        except (ContentError, DownwardError, QuantityError) as error:
            wrong[str(error)] = None
    if wrong:
        raise ContentError(", ".join(wrong) if len(wrong) == 1 else f"[{', '.join(wrong)}]")
    return list(found.values())


def _files_of(pod: Pod, index: int, source: VolumeProjection, mode: int, given: Content) -> list[File]:
    """`index`: of the source."""
    if source.secret is not None:
        return _object(ObjectRef("Secret", source.secret.name, pod.metadata.namespace), source.secret, mode, given)
    if source.configMap is not None:
        ref = ObjectRef("ConfigMap", source.configMap.name, pod.metadata.namespace)
        return _object(ref, source.configMap, mode, given)
    if source.downwardAPI is not None:
        default = source.downwardAPI.defaultMode
        chosen = msgspec.structs.replace(source.downwardAPI, defaultMode=mode if default is None else default)
        return downward_fields.files(pod, chosen, given.allocatable)
    if source.serviceAccountToken is not None:
        text = given.tokens[_token_request(pod, source.serviceAccountToken)]
        return [_private(pod, source.serviceAccountToken.path, text.encode(), mode)]
    if source.clusterTrustBundle is not None:
        bundle = source.clusterTrustBundle
        query = query_of(bundle)
        if query is None:
            raise ContentError("ClusterTrustBundle projection requires either name or signerName to be set")
        return [_private(pod, bundle.path, anchors(bundle, given.bundles[query], given.order), mode)]
    if source.podCertificate is not None:
        return _credentials(pod, source.podCertificate, given.certificates[index], mode)
    return []


def _credentials(pod: Pod, source: PodCertificateProjection, given: PodCredentials, mode: int) -> list[File]:
    if given.error:
        raise ContentError(given.error)
    files = {
        source.credentialBundlePath: given.key + given.chain,
        source.keyPath: given.key,
        source.certificateChainPath: given.chain,
    }
    return [_private(pod, path, data, mode) for path, data in files.items() if path]


def _private(pod: Pod, path: str, data: bytes, mode: int) -> File:
    """A file that only the pod's processes need to read."""
    user = only_user(pod)
    private = user is not None or pod.spec.securityContext.fsGroup is not None
    return File(path, data, _PRIVATE_MODE if private else mode, user)


def only_user(pod: Pod) -> int | None:
    """The user ID, if all containers, ephemeral ones included, have the same one; else None."""
    shared = pod.spec.securityContext.runAsUser
    users = set()
    for container in all_containers(pod):
        own = container.securityContext.runAsUser if container.securityContext is not None else None
        users.add(shared if own is None else own)
    return users.pop() if len(users) == 1 else None


def _object(ref: ObjectRef, wanted: SecretProjection, mode: int, given: Content) -> list[File]:
    kind, optional = ref.kind.lower(), bool(wanted.optional)
    if not ref.name:
        raise ContentError(f"a source of the kind {kind} has no name")
    state = given.objects[ref]
    if not state.body:
        if state.reason == "NotFound" and optional:
            return []
        if state.reason == "NotFound":
            raise ContentError(f'{kind} "{ref.name}" not found')
        raise ContentError(f'{kind} "{ref.namespace}/{ref.name}" cannot be read: {state.reason}: {state.message}')
    payload = _payload(ref, state.body)
    if not wanted.items:
        return [File(key, value, mode) for key, value in sorted(payload.items())]
    return [found for item in wanted.items if (found := _item(ref, item, payload, mode, optional)) is not None]


def _item(ref: ObjectRef, item: KeyToPath, payload: Mapping[str, bytes], mode: int, optional: bool) -> File | None:
    if item.key in payload:
        return File(item.path, payload[item.key], mode if item.mode is None else item.mode)
    if optional:
        return None
    if ref.kind == "Secret":
        raise ContentError(f"references non-existent secret key: {item.key}")
    raise ContentError(f"configmap references non-existent config key: {item.key}")


def _payload(ref: ObjectRef, body: bytes) -> dict[str, bytes]:
    try:
        found = msgspec.json.decode(body, type=_Data)
        if ref.kind == "Secret":
            return {key: base64.b64decode(text or "", validate=True) for key, text in (found.data or {}).items()}
        binary = {key: base64.b64decode(text or "", validate=True) for key, text in (found.binaryData or {}).items()}
        return {**{key: (text or "").encode() for key, text in (found.data or {}).items()}, **binary}
    except UNREADABLE as error:
        raise ContentError(f'{ref.kind.lower()} "{ref.namespace}/{ref.name}" cannot be read: {error}') from None
