"""Credential plugins: a program that prints an ExecCredential (client.authentication.k8s.io, v1 and v1beta1).

The `kubernetes` package runs it, in a process of its own (`disposable_loader`), without a terminal; after its timeout
it is killed with all its children. Its stdout is never logged."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

import msgspec

from supervision.errors import UNREADABLE, error_reason

from . import disposable_loader
from .access import Exec, ServerAccess
from .disposable_loader import LoaderError
from .errors import NoCredentials

MAX_STDERR: Final = 400
"""The characters of the plugin's stderr in an error."""
_EXIT: Final = re.compile(r"exec: process returned (-?\d+)")
_KILLED: Final = -1
"""The exit code that Go's os/exec reports of a process that was killed."""


class PluginRun(msgspec.Struct, frozen=True):
    """A run of a plugin, as client-go counts it."""

    status: str
    """no_error, plugin_execution_error, plugin_not_found_error or client_internal_error."""
    code: int
    """0 only if the plugin ended well."""


Observer = Callable[[PluginRun], None]


class IssuedCredentials(msgspec.Struct, frozen=True):
    """The credentials from the plugin."""

    token: str = ""
    cert: bytes = b""
    key: bytes = b""
    expires: float = 0.0
    """Seconds since 1970; 0: when the server answers 401."""
    valid: tuple[float, float] | None = None
    """Begin and end of the client certificate, seconds since 1970; None: there is none, or it cannot be read."""


class _Status(msgspec.Struct):
    token: str | None = None
    clientCertificateData: str | None = None
    clientKeyData: str | None = None
    expirationTimestamp: datetime | None = None
    certificateValid: tuple[float, float] | None = None
    """Added by `kubeconfig_process`: validity of the certificate."""


async def run(access: ServerAccess, observe: Observer = lambda run: None) -> IssuedCredentials:
    """Run the plugin of `access`; `observe` is called with how it ended. Raises NoCredentials."""
    plugin = access.exec
    assert plugin is not None  # noqa: S101 - called only for access with a plugin
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
        observe(outcome(error))
        raise _plugin_error(plugin, _reason(plugin, error)) from None
    observe(PluginRun("no_error", 0))
    return issued(status, plugin)


def outcome(error: LoaderError | OSError) -> PluginRun:
    """How a failed run is counted. If the output is no ExecCredential, the plugin itself ended well."""
    if isinstance(error, OSError):
        return PluginRun("client_internal_error", 1)
    if error.kind in ("FileNotFoundError", "PermissionError", "OSError"):
        return PluginRun("plugin_not_found_error", 1)
    if error.kind == "Timeout":
        return PluginRun("plugin_execution_error", _KILLED)
    ended = _EXIT.match(error.text)
    if ended is not None:
        return PluginRun("plugin_execution_error", int(ended[1]))
    if error.text.startswith("exec: "):
        return PluginRun("no_error", 0)
    return PluginRun("client_internal_error", 1)


def _cluster(plugin: Exec, access: ServerAccess) -> dict[str, Any]:
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
        return f"cannot be run: {error_reason(error)}"
    if error.kind in ("FileNotFoundError", "PermissionError", "OSError"):
        return f"cannot be run: {error.text}" + (f" ({plugin.install_hint.strip()})" if plugin.install_hint else "")
    if error.kind == "MemoryError":
        return "printed too much"
    return error.text.removeprefix("exec: ")[:MAX_STDERR]


def issued(status: dict[str, Any], plugin: Exec) -> IssuedCredentials:
    """The credentials in the status of an ExecCredential. Raises NoCredentials."""
    try:
        found = msgspec.convert(status, _Status)
    except UNREADABLE:
        # the parser's text may quote the credential
        raise _plugin_error(plugin, "printed an invalid ExecCredential status") from None
    cert, key = (found.clientCertificateData or "").encode(), (found.clientKeyData or "").encode()
    if bool(cert) != bool(key):
        raise _plugin_error(plugin, "printed only one of clientCertificateData and clientKeyData")
    if not found.token and not cert:
        raise _plugin_error(plugin, "printed neither a token nor a client certificate")
    expires = found.expirationTimestamp.timestamp() if found.expirationTimestamp else 0.0
    return IssuedCredentials(found.token or "", cert, key, expires, found.certificateValid)


def _plugin_error(plugin: Exec, text: str) -> NoCredentials:
    return NoCredentials(0, "NoCredentials", f"credential plugin {plugin.command}: {text}")
