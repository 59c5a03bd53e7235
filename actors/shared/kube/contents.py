"""The data of Secrets and ConfigMaps, as bytes by key. Pure."""

from __future__ import annotations

import base64
import binascii

import msgspec

from supervision.errors import UNREADABLE

from .codec import ObjectError, decode
from .meta import Api, ObjectMeta


class Secret(Api, frozen=True):
    """`data` is base64, as the API has it."""

    metadata: ObjectMeta = ObjectMeta()
    type: str = ""
    immutable: bool | None = None
    data: dict[str, str] = {}


class ConfigMap(Api, frozen=True):
    """`binaryData` is base64; no key is in both."""

    metadata: ObjectMeta = ObjectMeta()
    immutable: bool | None = None
    data: dict[str, str] = {}
    binaryData: dict[str, str] = {}


def secret(body: bytes) -> Secret:
    """Raises ObjectError."""
    return decode(body, Secret)


def secret_data(body: bytes) -> dict[str, bytes]:
    """Raises ObjectError."""
    return _decode_values(secret(body).data)


def config_map_texts(body: bytes) -> dict[str, str]:
    """The data for environment variables: `data` alone. Raises ObjectError."""
    return decode(body, ConfigMap).data


def _decode_values(data: dict[str, str]) -> dict[str, bytes]:
    try:
        return {key: base64.b64decode(text, validate=True) for key, text in data.items()}
    except (binascii.Error, ValueError) as error:
        raise ObjectError(f"data is not base64: {error}") from None


def pull_secret(body: bytes) -> bytes:
    """The registry credentials in a Secret, in docker's format; b'' for a secret of another type. Raises ObjectError,
    also if they are not a JSON object of registries."""
    found = secret(body)
    keys = {"kubernetes.io/dockerconfigjson": ".dockerconfigjson", "kubernetes.io/dockercfg": ".dockercfg"}
    key = keys.get(found.type, "")
    document = _decode_values(found.data).get(key, b"")
    if document:
        try:
            registries = msgspec.json.decode(document.decode(errors="replace"))
        except UNREADABLE:
            raise ObjectError(f"{key} is no JSON") from None
        if isinstance(registries, dict) and key == ".dockerconfigjson":
            registries = registries.get("auths", {})
        if not isinstance(registries, dict):
            raise ObjectError(f"{key} has no registries by name")
    return document
