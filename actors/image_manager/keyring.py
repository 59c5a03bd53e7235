"""Selects the registry credentials for an image. Pure.

A key is `[scheme://]host[:port][/path]`; host labels may be globs, the port must be equal, the path a prefix, also one
that ends within a name. Keys are tried in descending order, so the longer path comes first (kubelet: credentialprovider
keyring).
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any, Final

import msgspec

from supervision.errors import UNREADABLE

from .image_reference import DEFAULT_REGISTRY, qualified

_DEFAULT_KEY: Final = "index.docker.io"


class Credential(msgspec.Struct, frozen=True):
    username: str = ""
    password: str = ""
    identity_token: str = ""
    registry_token: str = ""
    email: str = ""
    """It is not sent to registries, but is part of the hash in the pull records."""


class Keyring(msgspec.Struct, frozen=True):
    """Credentials by key, in the order of reading."""

    entries: list[tuple[str, Credential]] = []

    def matching(self, name: str) -> list[Credential]:
        """The credentials for an image name (no tag), best first, each once."""
        host, _, path = qualified(name).partition("/")
        fitting = [(key, credential) for key, credential in self.entries if _fits(_split(key), host, path)]
        if not fitting and host == DEFAULT_REGISTRY:
            fitting = [(key, credential) for key, credential in self.entries if _split(key) == (_DEFAULT_KEY, "")]
        fitting.sort(key=lambda entry: _split(entry[0]), reverse=True)
        return list(dict.fromkeys(credential for _, credential in fitting))


def fits(pattern: str, name: str) -> bool:
    """Whether a pattern of a credential plug-in, `host[:port][/path]`, matches the image of this name."""
    wanted, _, prefix = pattern.partition("/")
    host, _, path = qualified(name).partition("/")
    return _fits((wanted, prefix), host, path)


def _fits(key: tuple[str, str], host: str, path: str) -> bool:
    pattern, prefix = key
    wanted, _, wanted_port = pattern.partition(":")
    actual, _, actual_port = host.partition(":")
    labels, given = wanted.split("."), actual.split(".")
    if wanted_port != actual_port or len(labels) != len(given):
        return False
    if not all(fnmatchcase(have, want) for have, want in zip(given, labels, strict=True)):
        return False
    return path.startswith(prefix)


def _split(key: str) -> tuple[str, str]:
    """(host, path) of a key; `/v1/` and `/v2/` are of the registry's API."""
    pattern, _, prefix = key.partition("://")[2].partition("/") if "://" in key else key.partition("/")
    return pattern, "" if prefix in {"v1", "v2"} else prefix.removeprefix("v1/").removeprefix("v2/")


def read_docker_config(documents: Iterable[bytes]) -> Keyring:
    """A keyring from .dockerconfigjson or .dockercfg contents; unreadable ones are skipped."""
    entries: list[tuple[str, Credential]] = []
    for document in documents:
        try:
            data = msgspec.json.decode(document.decode(errors="replace"))  # as Go decodes invalid UTF-8
        except UNREADABLE:
            continue
        hosts = data.get("auths", data) if isinstance(data, dict) else {}
        if isinstance(hosts, dict):
            entries += [(host, found) for host, entry in hosts.items() if (found := _credential(entry)) is not None]
    return Keyring(entries)


def _credential(entry: Any) -> Credential | None:
    if not isinstance(entry, dict):
        return None
    values = {key: value for key, value in entry.items() if isinstance(value, str)}
    username, password = values.get("username", ""), values.get("password", "")
    if auth := values.get("auth"):
        try:
            auth = auth.replace("\n", "").replace("\r", "")  # as Go decodes base64
            padded = auth if auth.endswith("=") else auth + "=" * (-len(auth) % 4)
            username, colon, password = base64.b64decode(padded, validate=True).decode().partition(":")
        except ValueError:  # no base64, no ASCII, or no text
            return None
        if not colon:
            return None
    tokens = values.get("identitytoken", ""), values.get("registrytoken", "")
    found = Credential(username, password.rstrip("\0"), *tokens, values.get("email", ""))
    return found if found != Credential(email=found.email) else None
