"""Commands and streams over HTTP, with a runtime that is played here: what is asked of it, and what is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from actors.http_servers.serving.server_state import ServerState
from actors.shared.config.fields.duration import Duration
from actors.shared.cri.errors import CriError, NotFound
from actors.shared.cri.model import ExecResult
from tests.support.served_node import Node, serve

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
UPGRADE = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1"}


class Runtime:
    """Answers each command with its words, `silence` with nothing, and `hang` never."""

    def __init__(self) -> None:
        self.commands: list[tuple[list[str], int]] = []
        self.hangs = asyncio.Event()
        self.given_up = asyncio.Event()
        self.error: CriError | None = None
        self.url = ""

    async def exec_sync(self, _: str, command: Sequence[str], timeout_seconds: int = 0) -> ExecResult:
        self.commands.append((list(command), timeout_seconds))
        if command[0] == "hang":
            self.hangs.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.given_up.set()
        said = b"" if command[0] == "silence" else " ".join(command).encode()
        return ExecResult(0, said, b"")

    async def exec_url(self, _: Any) -> str:
        if self.url:
            return self.url
        raise self.error or AssertionError


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Runtime:
    played = Runtime()
    monkeypatch.setattr(ServerState, "runtime", played)
    return played


@pytest.mark.parametrize(
    ("query", "body", "words"),
    [
        ("?cmd=ls%20-l", "", ["ls", "-l"]),
        ("?cmd=ls%20&cmd=b", "", ["ls", ""]),
        ("", "cmd=ls+-la+/", ["ls", "-la", "/"]),
        ("?cmd=a", "cmd=b", ["b"]),
        ("", "", [""]),
    ],
)
def test_the_command_of_run_is_in_the_query_or_in_a_form(tmp_path: Path, runtime: Runtime, query, body, words):
    async def story(node: Node) -> None:
        status, text, _ = await node.send("POST", f"/run/d/p/c{query}", FORM, body.encode())
        assert (status, text) == (200, " ".join(words))

    serve(Node(tmp_path), story)
    assert runtime.commands == [(words, 0)]


def test_the_output_of_run_is_called_json_as_by_the_kubelet(tmp_path: Path, runtime: Runtime):
    async def story(node: Node) -> None:
        kinds = [(await node.send("POST", f"/run/d/p/c?cmd={one}"))[2]["Content-Type"] for one in ("id", "silence")]
        assert kinds == ["application/json", "text/plain; charset=utf-8"]

    serve(Node(tmp_path), story)


def test_a_command_is_stopped_when_its_caller_has_gone(tmp_path: Path, runtime: Runtime):
    async def story(node: Node) -> None:
        connection = node.connection(node.authority.client("admin", "system:masters"))
        await asyncio.to_thread(connection.request, "POST", "/run/d/p/c?cmd=hang")
        async with asyncio.timeout(10):
            await runtime.hangs.wait()
            connection.close()
            await runtime.given_up.wait()

    serve(Node(tmp_path), story)


@pytest.mark.parametrize(
    ("method", "path", "answer"),
    [
        ("POST", "/run/d/p/other/c?cmd=id", (500, 'container not found ("c")')),
        ("POST", "/exec/d/p/other/c?command=id&output=1", (500, 'container not found ("c")')),
        ("POST", "/attach/d/p/other/c?output=1", (500, "container c not found in pod p_d")),
        ("POST", "/portForward/d/p/other", (404, "pod not found")),
        ("POST", "/exec/d/q/other/c?command=id&output=1", (404, "pod does not exist")),
    ],
)
def test_a_pod_with_another_uid_is_refused_as_by_the_kubelet(tmp_path: Path, runtime: Runtime, method, path, answer):
    async def story(node: Node) -> None:
        assert (await node.send(method, path, UPGRADE))[:2] == answer

    serve(Node(tmp_path), story)
    assert runtime.commands == []


def test_a_stream_without_an_upgrade_is_refused_after_the_runtime_has_taken_it(tmp_path: Path, runtime: Runtime):
    path = "/exec/d/p/c?output=1&command=ls"
    runtime.url = "http://127.0.0.1:1/exec/token"

    async def story(node: Node) -> None:
        status, text, _ = await node.send("POST", path, {})
        assert (status, text) == (400, "you must ask for an upgrade of the connection (SPDY/3.1 or websocket)")
        runtime.url, runtime.error = "", NotFound("exec", "NOT_FOUND", "no such container")
        status, text, _ = await node.send("POST", path, {})
        assert (status, text.rpartition(" = ")[2]) == (404, "no such container")

    serve(Node(tmp_path), story)


def test_a_stream_without_a_byte_for_the_configured_time_ends(tmp_path: Path, runtime: Runtime):
    ended = asyncio.Event()

    async def agree(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n")
        await reader.read()
        ended.set()
        writer.close()

    async def story(node: Node) -> None:
        server = await asyncio.start_server(agree, "127.0.0.1", 0)
        runtime.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/exec/token"
        connection = node.connection(node.authority.client("admin", "system:masters"))
        path = "/exec/d/p/c?output=1&command=ls"
        await asyncio.to_thread(connection.request, "POST", path, None, UPGRADE)
        assert (await asyncio.to_thread(connection.getresponse)).status == 101
        async with asyncio.timeout(10):
            await ended.wait()  # the caller is still there
        connection.close()
        server.close()

    serve(Node(tmp_path, streamingConnectionIdleTimeout=Duration(0.5)), story)


@pytest.mark.parametrize("protocols", ["SPDY/3.1", "x, SPDY/3.1"])
def test_a_frame_that_would_fill_the_memory_of_the_runtime_ends_its_stream(
    tmp_path: Path, runtime: Runtime, protocols: str
):
    """Any caller who may exec into a pod of his own could end containerd, or have the node out of memory."""
    ping, flood = b"\x80\x03\0\6\0\0\0\4\0\0\0\1", b"\x80\x03\0\4\0\0\0\4\x7f\xff\xff\xff"
    pinged, ended, rest = asyncio.Event(), asyncio.Event(), list[bytes]()

    async def agree(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n")
        assert await reader.readexactly(len(ping)) == ping
        pinged.set()
        rest.append(await reader.read())
        ended.set()
        writer.close()

    async def story(node: Node) -> None:
        server = await asyncio.start_server(agree, "127.0.0.1", 0)
        runtime.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/exec/token"
        connection = node.connection(node.authority.client("admin", "system:masters"))
        path, headers = "/exec/d/p/c?output=1&command=ls", UPGRADE | {"Upgrade": protocols}
        await asyncio.to_thread(connection.request, "POST", path, None, headers)
        assert (await asyncio.to_thread(connection.getresponse)).status == 101
        async with asyncio.timeout(10):
            await asyncio.to_thread(connection.sock.sendall, ping)
            await pinged.wait()
            await asyncio.to_thread(connection.sock.sendall, flood)
            await ended.wait()  # the caller is still there
        connection.close()
        server.close()

    serve(Node(tmp_path), story)
    assert rest == [b""]


@pytest.mark.parametrize(
    ("error", "status", "retry"),
    [
        (CriError("Exec", "RESOURCE_EXHAUSTED", "too many"), 429, "60"),
        (NotFound("Exec", "NOT_FOUND", "no container"), 404, None),
        (CriError("Exec", "UNKNOWN", "broken"), 500, None),
    ],
)
def test_a_stream_that_the_runtime_refuses_has_the_status_of_the_kubelet(
    tmp_path: Path, runtime: Runtime, error, status, retry
):
    runtime.error = error

    async def story(node: Node) -> None:
        found, text, headers = await node.send("POST", "/exec/d/p/c?command=id&output=1", UPGRADE)
        assert (found, text, headers["Retry-After"]) == (status, error.rpc_text, retry)

    serve(Node(tmp_path), story)


@pytest.mark.parametrize(
    ("query", "status", "text"),
    [
        ("tailLines=x&tail=all", 400, "unable to retrieve container logs for"),
        ("tailLines=1&tail=x", 400, 'tailLines: Invalid value: "x"'),
        ("tail=-1", 422, "tailLines: Invalid value: -1"),
    ],
)
def test_the_older_name_of_tail_lines_wins_over_the_newer_one(tmp_path: Path, query, status, text):
    async def story(node: Node) -> None:
        found = await node.fetch(f"/containerLogs/d/p/c?{query}")
        assert (found[0], found[1][: len(text)]) == (status, text)

    serve(Node(tmp_path), story)
