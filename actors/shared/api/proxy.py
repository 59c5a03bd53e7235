"""Connections through a proxy: HTTP CONNECT (plain or TLS) and SOCKS5 (RFC 9110 9.3.6, RFC 1928, RFC 1929).

TLS runs through the proxy: it sees the server's host and port and the traffic, never a token.
"""

from __future__ import annotations

import base64
import ipaddress
import os
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

import httpcore

from actors.shared.http_get.trust import system_trust
from actors.shared.kube.host_port import joined

MAX_HEAD = 16384


def proxy_for(server: str, proxy: str, environment: Mapping[str, str] = os.environ) -> str:
    """The proxy's URL for this server; '' for none. The kubeconfig takes precedence over the environment, as in
    client-go."""
    if proxy:
        return proxy
    parts = urlsplit(server)
    names = ("HTTPS_PROXY", "https_proxy") if parts.scheme == "https" else ("HTTP_PROXY", "http_proxy")
    found = next((environment[name] for name in names if environment.get(name)), "")
    excluded = environment.get("NO_PROXY") or environment.get("no_proxy") or ""
    if not found or _is_excluded(
        parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80), excluded
    ):
        return ""
    return found if "://" in found else f"http://{found}"


def _is_excluded(host: str, port: int, excluded: str) -> bool:
    """Go's rules of NO_PROXY: names with their sub-domains, `.domain`, addresses, CIDRs, each perhaps with a port."""
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    for entry in (part.strip().lower() for part in excluded.split(",")):
        if entry == "*":
            return True
        if "/" in entry and address is not None and _is_in(address, entry):
            return True
        name, _, wanted = entry.partition(":") if entry.count(":") == 1 else (entry, "", "")
        if not name or (wanted and wanted != str(port)):
            continue
        name = name.removeprefix("*")
        if (host == name.lstrip(".") and not name.startswith(".")) or host.endswith(f".{name.lstrip('.')}"):
            return address is None or host == name
    return False


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _is_in(address: ipaddress.IPv4Address | ipaddress.IPv6Address, network: str) -> bool:
    try:
        return address in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


class ProxyBackend(httpcore.AsyncNetworkBackend):
    """Opens TCP streams through the proxy, transparently for the layers above."""

    def __init__(self, proxy: str, below: httpcore.AsyncNetworkBackend) -> None:
        self._proxy, self._below = urlsplit(proxy), below

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        proxy = self._proxy
        default = {"http": 80, "https": 443}.get(proxy.scheme, 1080)
        stream = await self._below.connect_tcp(
            proxy.hostname or "", proxy.port or default, timeout, local_address, socket_options
        )
        try:
            if proxy.scheme == "https":
                stream = await stream.start_tls(system_trust(), proxy.hostname, timeout)
            if proxy.scheme in ("http", "https"):
                await _http_connect(stream, proxy, host, port, timeout)
            else:
                await _socks_connect(stream, proxy, (host, port), timeout)
        except BaseException:
            await stream.aclose()
            raise
        return stream

    async def sleep(self, seconds: float) -> None:
        await self._below.sleep(seconds)


async def _http_connect(
    stream: httpcore.AsyncNetworkStream, proxy: SplitResult, host: str, port: int, timeout: float | None
) -> None:
    target = joined(host, port)
    lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
    if proxy.username:
        lines.append(f"Proxy-Authorization: Basic {base64.b64encode(':'.join(_login(proxy)).encode()).decode()}")
    await stream.write("\r\n".join([*lines, "", ""]).encode(), timeout)
    head = bytearray()
    while not head.endswith(b"\r\n\r\n"):
        # byte by byte, because the server's data follows the head
        byte = await stream.read(1, timeout)
        if not byte or len(head) > MAX_HEAD:
            raise httpcore.ProxyError("the proxy's answer to CONNECT is incomplete")
        head += byte
    status = bytes(head).split(b"\r\n", 1)[0].split(b" ", 2)
    if len(status) < 2 or not status[0].startswith(b"HTTP/1.") or not status[1].startswith(b"2"):
        raise httpcore.ProxyError(
            f"the proxy answered CONNECT with {b' '.join(status[1:])[:100].decode(errors='replace')}"
        )


async def _socks_connect(
    stream: httpcore.AsyncNetworkStream, proxy: SplitResult, target: tuple[str, int], timeout: float | None
) -> None:
    """The proxy resolves names, as with Go's client."""
    await stream.write(b"\x05\x02\x00\x02" if proxy.username else b"\x05\x01\x00", timeout)
    version, method = await _exactly(stream, 2, timeout)
    if version != 5 or method not in ((0, 2) if proxy.username else (0,)):
        raise httpcore.ProxyError("the SOCKS proxy accepts no supported authentication method")
    if method == 2:
        name, password = (part.encode()[:255] for part in _login(proxy))
        login = b"\x01" + bytes([len(name)]) + name + bytes([len(password)]) + password
        await stream.write(login, timeout)
        if (await _exactly(stream, 2, timeout))[1] != 0:
            raise httpcore.ProxyError("the SOCKS proxy refuses the user or password")
    host, port = target
    await stream.write(b"\x05\x01\x00" + _socks_address(host) + port.to_bytes(2, "big"), timeout)
    _, reply, _, kind = await _exactly(stream, 4, timeout)
    if reply != 0:
        raise httpcore.ProxyError(f"the SOCKS proxy cannot connect to {host}:{port}: reply {reply}")
    length = {1: 4, 4: 16}.get(kind) or (await _exactly(stream, 1, timeout))[0]
    await _exactly(stream, length + 2, timeout)


def _socks_address(host: str) -> bytes:
    address = _address(host)
    if address is None:
        return b"\x03" + bytes([len(host)]) + host.encode("ascii")
    return (b"\x01" if address.version == 4 else b"\x04") + address.packed


async def _exactly(stream: httpcore.AsyncNetworkStream, length: int, timeout: float | None) -> bytes:
    data = b""
    while len(data) < length:
        more = await stream.read(length - len(data), timeout)
        if not more:
            raise httpcore.ProxyError("the proxy closed the connection")
        data += more
    return data


def _login(proxy: SplitResult) -> tuple[str, str]:
    return unquote(proxy.username or ""), unquote(proxy.password or "")
