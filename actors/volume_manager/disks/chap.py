"""CHAP: the secret with which the node and an iSCSI target authenticate to each other. Pure."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

import msgspec

from actors.api_clients.kube_client.messages import ApiAnswer
from actors.shared.kube.codec import ObjectError
from actors.shared.kube.contents import secret_data

_OF: Final = ("username", "password", "username_in", "password_in")
DISCOVERY_KEYS: Final = tuple(f"discovery.sendtargets.auth.{name}" for name in _OF)
SESSION_KEYS: Final = tuple(f"node.session.auth.{name}" for name in _OF)


class ChapError(Exception):
    """The secret is missing or cannot be used."""


class ChapWish(msgspec.Struct, frozen=True, kw_only=True):
    """What a source asks for. `namespace`, `name`: of its Secret, '' for none."""

    discovery: bool = False
    session: bool = False
    namespace: str = ""
    name: str = ""

    def __bool__(self) -> bool:
        return self.discovery or self.session

    @property
    def path(self) -> str:
        """Of the Secret. Raises ChapError."""
        if not self.namespace or not self.name:
            raise ChapError("CHAP enabled but secret name or namespace is empty")
        return f"/api/v1/namespaces/{quote(self.namespace, safe='')}/secrets/{quote(self.name, safe='')}"

    def settings(self, answer: ApiAnswer) -> dict[str, dict[str, str]]:
        """The settings of iscsiadm that the Secret has, of `discovery` and `session`. Raises ChapError."""
        failed = f"couldn't get secret {self.namespace}/{self.name} error"
        if not answer.ok:
            raise ChapError(f"{failed}: {answer.message or answer.reason or answer.status}")
        try:
            data = {key: value.decode() for key, value in secret_data(answer.body).items()}
        except (ObjectError, UnicodeDecodeError) as error:
            raise ChapError(f"{failed}: {error}") from None
        found: dict[str, dict[str, str]] = {}
        for part, wanted, keys in (
            ("discovery", self.discovery, DISCOVERY_KEYS),
            ("session", self.session, SESSION_KEYS),
        ):
            if wanted:
                found[part] = {key: data[key] for key in keys if data.get(key)}
        return found


NO_CHAP: Final = ChapWish()
