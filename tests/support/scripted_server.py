"""An HTTPS server whose every answer the test scripts, down to the bytes, and which can fail in every way."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.support.certificates import Authority
from tests.support.tcp_ports import held_port


class Asked(msgspec.Struct):
    """A request as it came."""

    method: str
    path: str
    """With the query."""
    headers: dict[str, str]
    body: bytes
    connection: int
    """1 for the first connection of the server."""
    user: str
    """Common name of the client certificate."""


Script = Callable[[Asked, asyncio.StreamWriter], Awaitable[None]]


class ScriptedServer:
    """On 127.0.0.1, TLS with a certificate for `localhost` and 127.0.0.1 (or plain). `script` answers each request."""

    def __init__(self, folder: Path, script: Script, *, tls: bool = True, names: tuple[str, ...] = ()) -> None:
        self.script, self.asked, self.connections = script, list[Asked](), 0
        self.authority = Authority(folder / "ca")
        self._tls = self._context(folder, names) if tls else None
        self._writers: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self._held: socket.socket | None = None
        """Keeps the port also while nobody listens there."""
        self.port = 0

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    def _context(self, folder: Path, names: tuple[str, ...]) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        import ipaddress

        alternatives: list[x509.GeneralName] = [x509.DNSName(name) for name in names or ("localhost",)]
        if not names:
            alternatives.append(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
        builder = self.authority._builder(x509.Name([]), key, 3600)
        pem = self.authority._pem(builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=True))
        form = serialization.PrivateFormat.PKCS8
        private = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
        path = folder / "server.pem"
        path.write_bytes(pem + private)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        context.verify_mode = ssl.CERT_OPTIONAL
        context.load_verify_locations(self.authority.path)
        return context

    async def start(self) -> None:
        """On the same port as before if it was stopped."""
        if self._held is None:
            self._held = held_port()
        self.port = int(self._held.getsockname()[1])
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, ssl=self._tls)

    async def stop(self) -> None:
        """Close the port and reset every connection."""
        assert self._server is not None
        self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()

    async def __aenter__(self) -> ScriptedServer:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.stop()
        if self._held is not None:
            self._held.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        self._writers.add(writer)
        try:
            while True:
                await self._one(reader, writer, number)
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            pass
        finally:
            self._writers.discard(writer)
            writer.transport.abort()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        peer = writer.get_extra_info("peercert") or {}
        user = next((value for part in peer.get("subject", ()) for name, value in part if name == "commonName"), "")
        asked = Asked(method, path, headers, body, number, user)
        self.asked.append(asked)
        await self.script(asked, writer)
        await writer.drain()


def answer(writer: asyncio.StreamWriter, status: int, body: bytes = b"{}", **headers: str) -> None:
    """A whole answer."""
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", "Content-Type: application/json"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    writer.write("\r\n".join([*lines, "", ""]).encode() + body)


def begin_stream(writer: asyncio.StreamWriter) -> None:
    """The head of an answer in chunks."""
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n")


def chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    """A chunk; an empty one ends the answer."""
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
