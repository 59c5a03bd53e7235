"""What the real server does for `kubectl logs`, `exec`, `attach` and `port-forward`: it asks the pod's node.

With a client certificate of its own, at the address and port in the node's status; an upgraded connection is relayed as
bytes. WebSocket clients with v5.channel.k8s.io are refused: the real server translates that one to SPDY, which is
not done here; kubectl then takes SPDY by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote, urlencode

import h11

from .errors import StatusError
from .objects import Obj, dig
from .request import Answer, Hijack, Reply, Request, Stream, Target
from .storage import Store

PIECE = 1 << 16
_FLAGS = {"stdin": "input", "stdout": "output", "stderr": "error", "tty": "tty"}
_PATHS = {"log": "containerLogs", "exec": "exec", "attach": "attach", "portforward": "portForward"}
_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "te", "trailer", "upgrade", "host"}


class KubeletProxy:
    def __init__(self, store: Store, certificate: tuple[Path, Path]) -> None:
        self._store = store
        self._context = ssl.create_default_context()
        self._context.check_hostname, self._context.verify_mode = False, ssl.CERT_NONE
        self._context.load_cert_chain(*certificate)

    async def pod(self, request: Request, target: Target) -> Reply:
        """For the subresources log, exec, attach, portforward of a pod. Raises StatusError."""
        if "v5.channel.k8s.io" in request.headers.get("sec-websocket-protocol", ""):
            raise StatusError(400, "unable to upgrade: v5.channel.k8s.io is not spoken here")
        pod = self._store.get(("pods", target.namespace, target.name))
        if pod is None:
            raise StatusError(404, f'pods "{target.name}" not found', name=target.name, kind="pods")
        container = _container(pod, request.query.get("container", ""), target)
        node = dig(pod, "spec.nodeName", "")
        if not node:
            return Answer(200, b"", "text/plain") if target.subresource == "log" else _not_yet(target)
        return await self._ask(node, request, _path(request, target, pod, container))

    async def node(self, request: Request, target: Target) -> Reply:
        """`/api/v1/nodes/NAME/proxy/...`"""
        query = f"?{urlencode(request.pairs)}" if request.pairs else ""
        return await self._ask(target.name.partition(":")[0], request, f"/{target.rest}{query}")

    def _address(self, name: str) -> tuple[str, int]:
        node = self._store.get(("nodes", "", name))
        if node is None:
            raise StatusError(404, f'nodes "{name}" not found', name=name, kind="nodes")
        addresses = {one["type"]: one["address"] for one in reversed(dig(node, "status.addresses", None) or [])}
        port = dig(node, "status.daemonEndpoints.kubeletEndpoint.Port", 0)
        for kind in ("InternalIP", "ExternalIP", "Hostname"):
            if kind in addresses and port:
                return addresses[kind], port
        raise StatusError(500, f"no preferred addresses found for node {name}")

    async def _ask(self, node: str, request: Request, path: str) -> Reply:
        address, port = self._address(node)
        try:
            async with asyncio.timeout(10):
                reader, writer = await asyncio.open_connection(address, port, ssl=self._context)
        except (OSError, TimeoutError) as error:
            raise StatusError(500, f"error dialing backend: dial tcp {address}:{port}: {error}", reason="") from None
        lines = [(name, value) for name, value in request.lines if name not in _HOP and name != "authorization"]
        lines += [("Host", f"{address}:{port}"), ("X-Forwarded-Proto", "https")]
        if "upgrade" in request.headers:
            return await self._upgrade(request, path, lines, (reader, writer))
        return await _Plain(reader, writer).ask(request, path, lines)

    async def _upgrade(
        self,
        request: Request,
        path: str,
        lines: list[tuple[str, str]],
        node: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> Reply:
        reader, writer = node
        lines += [("Connection", "Upgrade"), ("Upgrade", request.headers["upgrade"])]
        if request.method != "GET":
            lines.append(("Content-Length", "0"))
        head = "".join(f"{name}: {value}\r\n" for name, value in lines)
        writer.write(f"{request.method} {path} HTTP/1.1\r\n{head}\r\n".encode("latin-1"))
        try:
            async with asyncio.timeout(30):
                answer = await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, OSError, TimeoutError) as error:
            writer.transport.abort()
            raise StatusError(500, f"unable to upgrade connection: {error!r}") from None

        async def take(client: asyncio.StreamReader, back: asyncio.StreamWriter, early: bytes) -> None:
            back.write(answer)
            writer.write(early)
            await relay((client, writer), (reader, back))

        return Hijack(take)


async def relay(*ways: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
    """Bytes both ways until either side has ended."""

    async def one_way(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, ssl.SSLError):
            while data := await reader.read(PIECE):
                writer.write(data)
                await writer.drain()

    tasks = [asyncio.ensure_future(one_way(*way)) for way in ways]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for _, writer in ways:
            writer.close()


class _Plain:
    """One request, and its answer as it comes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._h11 = h11.Connection(h11.CLIENT)

    async def ask(self, request: Request, path: str, lines: list[tuple[str, str]]) -> Reply:
        lines = [*lines, ("Connection", "close"), ("Content-Length", str(len(request.body)))]
        head = h11.Request(method=request.method, target=path, headers=lines)
        for event in (head, h11.Data(data=request.body), h11.EndOfMessage()):
            self._writer.write(self._h11.send(event) or b"")
        response = await self._event()
        while isinstance(response, h11.InformationalResponse):
            response = await self._event()
        if not isinstance(response, h11.Response):
            raise StatusError(502, "the node closed the connection without an answer", reason="InternalError")
        headers = {bytes(name).decode().lower(): bytes(value).decode() for name, value in response.headers}
        kind = headers.get("content-type", "text/plain")
        if response.status_code == 200:
            return Stream(self._pieces(), kind, content_encoding=headers.get("content-encoding", ""))
        body = b"".join([piece async for piece in self._pieces()])
        return Answer(response.status_code, body, kind)

    async def _event(self) -> object:
        while (event := self._h11.next_event()) is h11.NEED_DATA:
            self._h11.receive_data(await self._reader.read(PIECE))
        return event

    async def _pieces(self) -> AsyncIterator[bytes]:
        try:
            while isinstance(event := await self._event(), h11.Data):
                yield bytes(event.data)
        finally:
            self._writer.transport.abort()


def _container(pod: Obj, wanted: str, target: Target) -> str:
    """Raises StatusError 400 as the real one: which containers there are to choose from."""
    fields = ("containers", "initContainers", "ephemeralContainers")
    names = [one["name"] for field in fields for one in pod["spec"].get(field) or []]
    if target.subresource == "portforward":
        return ""
    if not wanted:
        first = [one["name"] for one in pod["spec"]["containers"]]
        if len(first) > 1:
            text = f"a container name must be specified for pod {target.name}, choose one of: [{' '.join(first)}]"
            raise StatusError(400, text)
        return str(first[0])
    if wanted not in names:
        raise StatusError(400, f"container {wanted} is not valid for pod {target.name}")
    return wanted


def _not_yet(target: Target) -> Reply:
    raise StatusError(400, f"pod {target.name} does not have a host assigned")


def _path(request: Request, target: Target, pod: Obj, container: str) -> str:
    """The kubelet's, with its own names of the same options."""
    parts = [_PATHS[target.subresource], target.namespace, target.name, container]
    if target.subresource == "log":
        wanted = [
            (name, value) for name, value in request.pairs if name not in ("container", "insecureSkipTLSVerifyBackend")
        ]
    elif target.subresource == "portforward":
        wanted = [(name, value) for name, value in request.pairs if name == "ports"]
        wanted = [("port", value) for _, value in wanted]
    else:
        wanted = [(_FLAGS[name], "1") for name in _FLAGS if request.flag(name)]
        wanted += [(name, value) for name, value in request.pairs if name == "command"]
    query = f"?{urlencode(wanted)}" if wanted else ""
    return "/" + "/".join(quote(part, safe="") for part in parts if part) + query
