"""The credentials of requests: headers and client certificate, and when to refresh them."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Callable
from typing import Final
from urllib.parse import quote

import msgspec

from . import exec_plugin
from .access import MINUTE, ServerAccess
from .errors import NoCredentials
from .exec_plugin import IssuedCredentials
from .kubeconfig import read_bounded
from .plugin_metrics import PluginMetrics

Headers = list[tuple[str, str]]
RETRY_SECONDS: Final = 5.0
"""The pause before a failed plugin runs again."""


class ClientKeyPair(msgspec.Struct, frozen=True):
    """A client certificate: paths, or PEM; all empty: none."""

    cert_file: str = ""
    key_file: str = ""
    cert_data: bytes = b""
    key_data: bytes = b""


class Credentials:
    """The credentials of one server. `clock` returns seconds since 1970."""

    def __init__(
        self, access: ServerAccess, clock: Callable[[], float] = time.time, plugin_metrics: PluginMetrics | None = None
    ) -> None:
        self._access, self._clock, self._plugin_metrics = access, clock, plugin_metrics or PluginMetrics()
        self._token, self._token_read = "", float("-inf")
        self._issued: IssuedCredentials | None = None
        self._failed: tuple[float, NoCredentials] | None = None
        self._running = asyncio.Lock()
        self._fixed = _impersonation(access)

    async def headers(self) -> Headers:
        """The headers of one request. Raises NoCredentials."""
        if self._access.exec is not None:
            token = (await self._exec()).token
        else:
            token = self._file_token() if self._access.token_file else self._access.token
        return self._with_token(token)

    def _with_token(self, token: str) -> Headers:
        if token:
            return [("Authorization", f"Bearer {token}"), *self._fixed]
        if self._access.username:
            pair = f"{self._access.username}:{self._access.password}".encode()
            return [("Authorization", f"Basic {base64.b64encode(pair).decode()}"), *self._fixed]
        return self._fixed

    async def certificate(self) -> ClientKeyPair:
        """The certificate of a new connection. If it differs from the last one, reconnect. Raises NoCredentials."""
        access = self._access
        if access.cert_data or access.cert_file or access.exec is None:
            return ClientKeyPair(access.cert_file, access.key_file, access.cert_data, access.key_data)
        issued = await self._exec()
        return ClientKeyPair(cert_data=issued.cert, key_data=issued.key)

    def refused(self, used: Headers) -> bool:
        """Handle a 401 to a request with these headers. Returns whether the next request may have other credentials: of
        many requests that are refused at once, the first renews them for all."""
        self._token_read = float("-inf")
        if self._access.exec is None:
            return bool(self._access.token_file)
        if self._issued is not None and used == self._with_token(self._issued.token):
            self._issued = None
        return True

    def _file_token(self) -> str:
        now = self._clock()
        if not 0 <= now - self._token_read < MINUTE:
            try:
                token = read_bounded(self._access.token_file).decode().strip()
            except (OSError, UnicodeDecodeError) as error:
                token, text = "", getattr(error, "strerror", None) or "not text"
            else:
                text = "" if token else "is empty"
            if not token and not self._token:
                raise NoCredentials(0, "NoCredentials", f"token file {self._access.token_file}: {text}")
            # while the file is unreadable, the last token stays in use
            self._token, self._token_read = token or self._token, now
        return self._token

    async def _exec(self) -> IssuedCredentials:
        async with self._running:
            now = self._clock()
            if self._issued is not None and (not self._issued.expires or now < self._issued.expires):
                return self._issued
            if self._failed is not None and 0 <= now - self._failed[0] < RETRY_SECONDS:
                raise self._failed[1]
            try:
                self._issued, self._failed = await exec_plugin.run(self._access, self._plugin_metrics.count_run), None
            except NoCredentials as error:
                self._failed = (self._clock(), error)
                raise
            self._plugin_metrics.issued(self._issued.valid, self._clock())
            return self._issued


def _impersonation(access: ServerAccess) -> Headers:
    """Kubernetes documentation, "User impersonation"."""
    impersonated = access.impersonate
    if impersonated is None:
        return []
    headers = [("Impersonate-User", impersonated.user)]
    if impersonated.uid:
        headers.append(("Impersonate-Uid", impersonated.uid))
    headers += [("Impersonate-Group", group) for group in impersonated.groups]
    headers += [
        (f"Impersonate-Extra-{quote(name, safe='')}", value) for name, values in impersonated.extra for value in values
    ]
    return headers
