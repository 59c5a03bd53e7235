"""Credential plugins: a program that prints an ExecCredential (client.authentication.k8s.io, v1 and v1beta1).

Run directly, never by a shell; without a terminal; killed after its timeout; output is bounded and never logged.
"""

from __future__ import annotations

import asyncio
import base64
import os
from datetime import datetime
from typing import Any, Final

import msgspec

from supervision.errors import UNREADABLE

from .access import Access, Exec
from .errors import NoCredentials

MAX_OUTPUT: Final = 1 << 20
MAX_COMPLAINT: Final = 400
"""Characters of stderr that go into an error."""


class Issued(msgspec.Struct, frozen=True):
    """What the plugin gave."""

    token: str = ""
    cert: bytes = b""
    key: bytes = b""
    expires: float = 0.0
    """Seconds since 1970; 0: when the server says 401."""


class _Status(msgspec.Struct):
    token: str | None = None
    clientCertificateData: str | None = None
    clientKeyData: str | None = None
    expirationTimestamp: datetime | None = None


class _Credential(msgspec.Struct):
    kind: str = ""
    apiVersion: str = ""
    status: _Status | None = None


async def run(access: Access) -> Issued:
    """Run the plugin of `access`. Raises NoCredentials."""
    plugin = access.exec
    assert plugin is not None  # noqa: S101 - asked for those that have one only
    output = await _output(plugin, environment(plugin, access))
    return read_credential(output, plugin)


def environment(plugin: Exec, access: Access) -> dict[str, str]:
    """The agent's own environment, the plugin's, and KUBERNETES_EXEC_INFO."""
    spec: dict[str, Any] = {"interactive": False}
    if plugin.provide_cluster_info:
        spec["cluster"] = _cluster(plugin, access)
    info = {"kind": "ExecCredential", "apiVersion": plugin.api_version, "spec": spec}
    return {**os.environ, **dict(plugin.env), "KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode()}


def _cluster(plugin: Exec, access: Access) -> dict[str, Any]:
    found = {
        "server": access.server,
        "tls-server-name": access.server_name,
        "insecure-skip-tls-verify": access.insecure,
        "certificate-authority-data": base64.b64encode(access.ca).decode(),
        "proxy-url": access.proxy,
        "config": plugin.cluster_config,
    }
    return {name: value for name, value in found.items() if value}


async def _output(plugin: Exec, variables: dict[str, str]) -> bytes:
    try:
        process = await asyncio.create_subprocess_exec(
            plugin.command,
            *plugin.args,
            env=variables,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=MAX_OUTPUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        hint = f" ({plugin.install_hint.strip()})" if plugin.install_hint else ""
        text = error.strerror if isinstance(error, OSError) else str(error)
        raise _failed(plugin, f"cannot be run: {text}{hint}") from None
    assert process.stdout is not None and process.stderr is not None  # noqa: S101, PT018 - both are pipes
    reading = asyncio.gather(_bounded(process.stdout), _bounded(process.stderr), process.wait())
    try:
        output, complaint, code = await asyncio.wait_for(reading, plugin.timeout)
    except TimeoutError:
        raise _failed(plugin, f"gave no answer within {plugin.timeout:g} s") from None
    finally:
        _end(process)
    if code != 0:
        said = complaint.decode(errors="replace").strip()[-MAX_COMPLAINT:]
        raise _failed(plugin, f"ended with {code}: {said}" if said else f"ended with {code}")
    if len(output) > MAX_OUTPUT:
        raise _failed(plugin, f"printed more than {MAX_OUTPUT >> 20} MiB")
    return output


async def _bounded(stream: asyncio.StreamReader) -> bytes:
    """All of it up to the bound and a little more; the rest is read and dropped, so that the writer never blocks."""
    kept = bytearray()
    while chunk := await stream.read(65536):
        if len(kept) <= MAX_OUTPUT:
            kept += chunk
    return bytes(kept)


def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        try:
            os.killpg(process.pid, 9)
        except OSError:
            # it has ended meanwhile
            pass


def read_credential(output: bytes, plugin: Exec) -> Issued:
    """What was printed. Raises NoCredentials."""
    try:
        credential = msgspec.json.decode(output, type=_Credential)
    except UNREADABLE:
        # the parser's text may quote the credential
        raise _failed(plugin, "printed no ExecCredential in JSON") from None
    if credential.kind != "ExecCredential" or credential.apiVersion != plugin.api_version:
        raise _failed(plugin, f"printed {credential.kind[:40]!r} of {credential.apiVersion[:60]!r}, "
                              f"not ExecCredential of {plugin.api_version}")  # fmt: skip
    status = credential.status or _Status()
    cert, key = (status.clientCertificateData or "").encode(), (status.clientKeyData or "").encode()
    if bool(cert) != bool(key):
        raise _failed(plugin, "printed one of clientCertificateData and clientKeyData, not both")
    if not status.token and not cert:
        raise _failed(plugin, "printed neither a token nor a client certificate")
    expires = status.expirationTimestamp.timestamp() if status.expirationTimestamp else 0.0
    return Issued(status.token or "", cert, key, expires)


def _failed(plugin: Exec, text: str) -> NoCredentials:
    return NoCredentials(0, "NoCredentials", f"credential plugin {plugin.command}: {text}")
