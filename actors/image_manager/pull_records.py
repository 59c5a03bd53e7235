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

from .keyring import Credential, qualified

API_VERSION: Final = "kubelet.config.k8s.io/v1beta1"
_ESCAPED: Final = "<>&\u2028\u2029"
"""Characters that Go escapes in JSON although JSON does not require it."""
MAX_SOURCES: Final = 10
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
    """By the image's full name without tag and digest."""
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
    if pattern.endswith("/*"):
        return any(one.startswith(pattern[:-1]) for one in (name, qualified(name)))
    return qualified(pattern) == qualified(name)


def accessible_by_all(record: ImagePulledRecord | None, name: str) -> bool:
    """Whether every pod may use the image."""
    return record is not None and record.credentialMapping.get(qualified(name), ImageCredentials()).nodePodsAccessible


def accessible(record: ImagePulledRecord | None, name: str, found: Sequence[FoundCredential]) -> bool:
    """Whether a pod that has these credentials may use the image: with a credential, a secret or an account that it
    was pulled with before."""
    recorded = record.credentialMapping.get(qualified(name)) if record is not None else None
    if recorded is None:
        return False
    hashes = {secret.credentialHash for secret in recorded.kubernetesSecrets} - {""}
    secrets = {ImagePullSecret(one.uid, one.namespace, one.name) for one in recorded.kubernetesSecrets}
    return recorded.nodePodsAccessible or any(
        one.source in recorded.kubernetesServiceAccounts
        or (
            isinstance(one.source, ImagePullSecret)
            and (one.source in secrets or credential_hash(one.credential) in hashes)
        )
        for one in found
    )


def with_pull(
    record: ImagePulledRecord | None, image_ref: str, name: str, used: FoundCredential | None, now: str
) -> ImagePulledRecord:
    """The record after one more pull. `used`: the credential that was accepted, None for an anonymous pull."""
    record = record or ImagePulledRecord(image_ref)
    before = record.credentialMapping.get(qualified(name), ImageCredentials())
    secrets, accounts, everybody = before.kubernetesSecrets, before.kubernetesServiceAccounts, before.nodePodsAccessible
    match used.source if used is not None else None:
        case ImagePullSecret() as secret if used is not None:
            others = [one for one in secrets if (one.uid, one.namespace, one.name) != msgspec.structs.astuple(secret)]
            own = RecordedSecret(secret.uid, secret.namespace, secret.name, credential_hash(used.credential))
            secrets = tuple([*others, own][-MAX_SOURCES:])
        case ServiceAccount() as account:
            accounts = tuple([*(one for one in accounts if one != account), account][-MAX_SOURCES:])
        case _:
            everybody = True
    entry = ImageCredentials(secrets, accounts, everybody)
    mapping = {**record.credentialMapping, qualified(name): entry}
    return msgspec.structs.replace(record, credentialMapping=mapping, lastUpdatedTime=now)


def credential_hash(credential: Credential) -> str:
    """The kubelet's hash, of JSON as Go writes it, so that images pulled under one agent can be used under the
    other."""
    given = {"username": credential.username, "password": credential.password, "email": credential.email}
    text = msgspec.json.encode({name: value for name, value in given.items() if value}).decode()
    for odd in _ESCAPED:
        text = text.replace(odd, f"\\u{ord(odd):04x}")
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
