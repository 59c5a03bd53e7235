"""Records of pulls: the credentials that an image was pulled with, and so the pods that may use it while it is present.
Pure.

Source: KEP-2535, gate KubeletEnsureSecretPulledImages. The JSON is the kubelet's, so that each agent can read the
other's files. An image without record or intent is preloaded: another program put it on the node.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from supervision.errors import UNREADABLE

from .image_reference import qualified
from .keyring import Credential

API_VERSION: Final = "kubelet.config.k8s.io/v1beta1"
_ESCAPED: Final = "<>&\u2028\u2029"
"""Characters that Go escapes in JSON although JSON does not require it."""
MAX_SOURCES: Final = 100
"""The limit of secrets and of accounts for one image of a record; the latest are kept."""


class ImagePullSecret(msgspec.Struct, frozen=True):
    """A pull secret, as the source of a credential."""

    uid: str
    namespace: str
    name: str


class ServiceAccount(msgspec.Struct, frozen=True):
    """A service account whose token a credential plug-in was given."""

    uid: str
    namespace: str
    name: str


class FoundCredential(msgspec.Struct, frozen=True):
    """A credential and its source; None: from the node itself, for all pods."""

    credential: Credential
    source: ImagePullSecret | ServiceAccount | None = None


class RecordedSecret(msgspec.Struct, frozen=True):
    uid: str
    namespace: str
    name: str
    credentialHash: str = ""


class ImageCredentials(msgspec.Struct, frozen=True, omit_defaults=True):
    """The credentials with which the image was pulled by this name."""

    kubernetesSecrets: tuple[RecordedSecret, ...] = ()
    kubernetesServiceAccounts: tuple[ServiceAccount, ...] = ()
    nodePodsAccessible: bool = False
    """Pulled anonymously or with a credential of the node: every pod may use it."""


class ImagePulledRecord(msgspec.Struct, frozen=True):
    """The record of an image that was pulled for a pod."""

    imageRef: str
    credentialMapping: dict[str, ImageCredentials] = {}
    """By the image's name without tag and digest, as the pod has it (`busybox`). Earlier versions of this agent wrote
    the full name (`docker.io/library/busybox`)."""
    lastUpdatedTime: str = ""
    kind: str = "ImagePulledRecord"
    apiVersion: str = API_VERSION


class Intent(msgspec.Struct, frozen=True):
    """Written before a pull, so that the image does not count as preloaded if the agent dies during the pull."""

    image: str
    kind: str = "ImagePullIntent"
    apiVersion: str = API_VERSION


def needs_verification(policy: str, name: str, allowed: Iterable[str], *, pulled: bool) -> bool:
    """Whether a present image is used only by pods that have its credentials. `policy`:
    imagePullCredentialsVerificationPolicy; `name`: without tag; `pulled`: the agent has pulled the image."""
    match policy:
        case "AlwaysVerify":
            return True
        case "NeverVerifyPreloadedImages":
            return pulled
        case "NeverVerifyAllowlistedImages":
            return not any(_allows(pattern, name) for pattern in allowed)
    return False


def _allows(pattern: str, name: str) -> bool:
    """As in the kubelet, the name counts as the pod has it: `docker.io/library/*` is not for `busybox`."""
    return name.startswith(pattern[:-1]) if pattern.endswith("/*") else name == pattern


def accessible_by_all(record: ImagePulledRecord | None, name: str) -> bool:
    """Whether every pod may use the image."""
    return _credentials_of(record, name).nodePodsAccessible


def matching(record: ImagePulledRecord | None, name: str, found: Sequence[FoundCredential]) -> FoundCredential | None:
    """The first of a pod's credentials by which it may use the image: it was pulled before with the same credential,
    secret or account."""
    recorded = _credentials_of(record, name)
    hashes = {secret.credentialHash for secret in recorded.kubernetesSecrets} - {""}
    secrets = {ImagePullSecret(one.uid, one.namespace, one.name) for one in recorded.kubernetesSecrets}
    for one in found:
        match one.source:
            case ImagePullSecret():
                fits = one.source in secrets or credential_hash(one.credential) in hashes
            case source:
                fits = source in recorded.kubernetesServiceAccounts
        if fits:
            return one
    return None


def lacks(record: ImagePulledRecord, name: str, used: FoundCredential) -> bool:
    """Whether the record lacks this secret with this credential, and has room for it."""
    if not isinstance(used.source, ImagePullSecret):
        return False
    secrets = _credentials_of(record, name).kubernetesSecrets
    return _recorded(used.source, used.credential) not in secrets and len(secrets) < MAX_SOURCES


def with_pull(
    record: ImagePulledRecord | None, image_ref: str, name: str, used: FoundCredential | None, now: str
) -> ImagePulledRecord:
    """The record after one more pull. `used`: the credential that was accepted, None for an anonymous pull."""
    record = record or ImagePulledRecord(image_ref)
    before = _credentials_of(record, name)
    secrets, accounts = before.kubernetesSecrets, before.kubernetesServiceAccounts
    match used.source if used is not None else None:
        case _ if before.nodePodsAccessible:
            entry = before
        case ImagePullSecret() as secret if used is not None:
            others = [one for one in secrets if (one.uid, one.namespace, one.name) != msgspec.structs.astuple(secret)]
            entry = ImageCredentials((*others, _recorded(secret, used.credential))[-MAX_SOURCES:], accounts)
        case ServiceAccount() as account:
            entry = ImageCredentials(
                secrets, tuple([*(one for one in accounts if one != account), account][-MAX_SOURCES:])
            )
        case _:
            entry = ImageCredentials(nodePodsAccessible=True)
    mapping = {**record.credentialMapping, name: entry}
    return msgspec.structs.replace(record, credentialMapping=mapping, lastUpdatedTime=now)


def _credentials_of(record: ImagePulledRecord | None, name: str) -> ImageCredentials:
    mapping = record.credentialMapping if record is not None else {}
    return mapping.get(name) or mapping.get(qualified(name)) or ImageCredentials()


def _recorded(secret: ImagePullSecret, credential: Credential) -> RecordedSecret:
    return RecordedSecret(secret.uid, secret.namespace, secret.name, credential_hash(credential))


def credential_hash(credential: Credential) -> str:
    """The kubelet's hash, of JSON as Go writes it, so that images pulled under one agent can be used under the
    other."""
    given = {"username": credential.username, "password": credential.password, "email": credential.email}
    text = msgspec.json.encode({name: value for name, value in given.items() if value}).decode()
    for character in _ESCAPED:
        text = text.replace(character, f"\\u{ord(character):04x}")
    return hashlib.sha256(text.encode()).hexdigest()


def file_name(key: str) -> str:
    """The file name of the record of an image ref, or of the intent of an image."""
    return f"sha256-{hashlib.sha256(key.encode()).hexdigest()}"


def read_record(data: bytes) -> ImagePulledRecord | None:
    """Read a record; None for a file that is not one."""
    try:
        record = msgspec.json.decode(data, type=ImagePulledRecord)
    except UNREADABLE:
        return None
    return record if record.kind == "ImagePulledRecord" and record.imageRef else None


def read_intent(data: bytes) -> Intent | None:
    """Read an intent; None for a file that is not one."""
    try:
        intent = msgspec.json.decode(data, type=Intent)
    except UNREADABLE:
        return None
    return intent if intent.kind == "ImagePullIntent" and intent.image else None
