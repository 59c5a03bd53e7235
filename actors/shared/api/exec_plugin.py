"""Credential plugins: a program that prints an ExecCredential (client.authentication.k8s.io, v1 and v1beta1).

The `kubernetes` package runs it, in a process of its own (`disposable_loader`), without a terminal; after its timeout
it is killed with all its children. Its stdout is never logged."""

from __future__ import annotations

import base64
import os
from datetime import datetime
from typing import Any, Final

import msgspec

from supervision.errors import UNREADABLE

from . import disposable_loader
from .access import Access, Exec
from .disposable_loader import LoaderError
from .errors import NoCredentials

MAX_COMPLAINT: Final = 400
"""The characters of the plugin's stderr in an error."""


class Issued(msgspec.Struct, frozen=True):
    """The credentials from the plugin."""

    token: str = ""
    cert: bytes = b""
    key: bytes = b""
    expires: float = 0.0
    """Seconds since 1970; 0: when the server answers 401."""


class _Status(msgspec.Struct):
    token: str | None = None
    clientCertificateData: str | None = None
    clientKeyData: str | None = None
    expirationTimestamp: datetime | None = None


async def run(access: Access) -> Issued:
    """Run the plugin of `access`. Raises NoCredentials."""
    plugin = access.exec
    assert plugin is not None  # noqa: S101 - asked for those that have one only
    request = {
        "do": "run_plugin",
        "plugin": {
            "apiVersion": plugin.api_version,
            "command": plugin.command,
            "args": list(plugin.args),
            "env": [{"name": name, "value": value} for name, value in plugin.env],
            "provideClusterInfo": plugin.provide_cluster_info,
        },
        "cluster": _cluster(plugin, access),
        "directory": os.path.dirname(access.source),
    }
    try:
        status = await disposable_loader.answer_later(request, plugin.timeout)
    except (LoaderError, OSError) as error:
        raise _failed(plugin, _reason(plugin, error)) from None
    return issued(status, plugin)


def _cluster(plugin: Exec, access: Access) -> dict[str, Any]:
    """spec.cluster of the ExecCredential, for a plugin that asks for it."""
    found = {
        "server": access.server,
        "tls-server-name": access.server_name,
        "insecure-skip-tls-verify": access.insecure,
        "certificate-authority-data": base64.b64encode(access.ca).decode(),
        "proxy-url": access.proxy,
        "config": plugin.cluster_config,
    }
    return {name: value for name, value in found.items() if value}


def _reason(plugin: Exec, error: LoaderError | OSError) -> str:
    if isinstance(error, OSError):
        return f"cannot be run: {error.strerror or error}"
    if error.kind in ("FileNotFoundError", "PermissionError", "OSError"):
        return f"cannot be run: {error.text}" + (f" ({plugin.install_hint.strip()})" if plugin.install_hint else "")
    if error.kind == "MemoryError":
        return "printed too much"
    return error.text.removeprefix("exec: ")[:MAX_COMPLAINT]


def issued(status: dict[str, Any], plugin: Exec) -> Issued:
    """The credentials in the status of an ExecCredential. Raises NoCredentials."""
    try:
        found = msgspec.convert(status, _Status)
    except UNREADABLE:
        # the parser's text may quote the credential
        raise _failed(plugin, "printed an invalid ExecCredential status") from None
    cert, key = (found.clientCertificateData or "").encode(), (found.clientKeyData or "").encode()
    if bool(cert) != bool(key):
        raise _failed(plugin, "printed only one of clientCertificateData and clientKeyData")
    if not found.token and not cert:
        raise _failed(plugin, "printed neither a token nor a client certificate")
    expires = found.expirationTimestamp.timestamp() if found.expirationTimestamp else 0.0
    return Issued(found.token or "", cert, key, expires)


def _failed(plugin: Exec, text: str) -> NoCredentials:
    return NoCredentials(0, "NoCredentials", f"credential plugin {plugin.command}: {text}")
