"""Whether a container runtime answers: hand-written frames against gRPC's own server, and against silence."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from pathlib import Path

import grpc
import grpc.aio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.cri import liveness
from supervision.spec import ProgramAnswer
from tests.support.fake_cri.runtime import FakeRuntime
from tests.support.fake_cri.server import serve


async def test_a_runtime_that_serves_cri_answers(tmp_path: Path) -> None:
    async with serve(FakeRuntime(), tmp_path / "s"):
        assert await asyncio.to_thread(liveness.answers, str(tmp_path / "s"), 10.0)


async def test_the_name_of_a_runtime_is_its_own(tmp_path: Path) -> None:
    async with serve(FakeRuntime(), tmp_path / "s"):
        assert await asyncio.to_thread(liveness.name, str(tmp_path / "s"), 10.0) == "fake"
    assert liveness.name(str(tmp_path / "none"), 0.2) == ""


@given(st.binary(max_size=40))
def test_the_name_is_found_in_an_answer_with_any_other_bytes(data: bytes) -> None:
    assert isinstance(liveness._text_field(data, 2), str)
    assert liveness._text_field(b"\x0a\x01v\x12\x04fake" + data, 2) == "fake"


async def test_a_runtime_without_cri_answers_and_does_not_serve(tmp_path: Path) -> None:
    """As containerd does whose CRI plug-in could not be loaded."""
    async with serve(FakeRuntime(), tmp_path / "whole"):
        assert await asyncio.to_thread(liveness.probe, str(tmp_path / "whole"), "", 10.0) == ProgramAnswer(True)
    server = grpc.aio.server()
    server.add_insecure_port(f"unix://{tmp_path}/without")
    await server.start()
    try:
        assert await asyncio.to_thread(liveness.answers, str(tmp_path / "without"), 10.0)
        log = tmp_path / "containerd.log"
        log.write_text('msg="failed to load plugin io.containerd.grpc.v1.cri" error="no space"\n')
        found = await asyncio.to_thread(liveness.probe, str(tmp_path / "without"), str(log), 10.0)
        assert found.not_serving == "it answers without CRI: its CRI plug-in is not loaded: no space"
    finally:
        await server.stop(None)


@pytest.mark.parametrize("name", [b"\x0bgrpc-status", bytes.fromhex("889acac8b21234da8f")])
def test_the_status_unimplemented_is_known_in_either_code(name: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    for status, served in ((b"\x0212", False), (b"\x012", True)):
        monkeypatch.setattr(liveness, "_ask", lambda path, seconds, got=b"\x88@" + name + status: got)
        assert (liveness.probe("") == ProgramAnswer(True)) is served


def test_a_runtime_that_is_stopped_does_not_answer(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(path)
        sock.listen()  # the system accepts for a process that does not run
        assert not liveness.answers(path, 0.2)


def test_a_socket_without_a_listener_does_not_answer(tmp_path: Path) -> None:
    assert not liveness.answers(str(tmp_path / "none"), 0.2)


@pytest.mark.parametrize("kind", [liveness._DATA, liveness._HEADERS])
def test_an_error_is_an_answer_too(kind: int) -> None:
    ours, peer = socket.socketpair()
    with ours, peer:
        peer.sendall(liveness._frame(liveness._SETTINGS, 0, 0, b""))
        peer.sendall(liveness._frame(kind, liveness._END_STREAM, liveness._STREAM, b"x"))
        assert liveness._await_answer(ours, time.monotonic() + 10.0) is not None


@given(st.binary(max_size=200))
def test_invalid_data_is_no_answer_and_raises_nothing(data: bytes) -> None:
    ours, peer = socket.socketpair()
    with ours:
        peer.sendall(data)
        peer.close()
        found = liveness._await_answer(ours, time.monotonic() + 10.0)
        assert found is None or all(each in data for each in found)


def test_the_answer_is_that_of_the_call_and_not_of_another_stream() -> None:
    ours, peer = socket.socketpair()
    with ours, peer:
        for kind, stream, payload in (
            (liveness._HEADERS, 3, b"other"),
            (liveness._DATA, 3, b"other"),
            (liveness._HEADERS, liveness._STREAM, b"one"),
            (liveness._HEADERS, liveness._STREAM, b" two"),
            (liveness._DATA, liveness._STREAM, b"name"),
        ):
            peer.sendall(liveness._frame(kind, 0, stream, payload))
        assert liveness._await_answer(ours, time.monotonic() + 10.0) == (b"one two", b"name")


def test_an_answer_that_comes_in_pieces_is_waited_for_until_the_deadline() -> None:
    whole = liveness._frame(liveness._DATA, 0, liveness._STREAM, b"x" * 70_000)
    ours, peer = socket.socketpair()
    with ours, peer:
        sender = threading.Thread(target=peer.sendall, args=(whole,))
        sender.start()
        assert liveness._await_answer(ours, time.monotonic() + 10.0) == (b"", b"x" * 70_000)
        sender.join()
        assert liveness._await_answer(ours, time.monotonic() - 1.0) is None
        with pytest.raises(TimeoutError):
            liveness._await_answer(ours, time.monotonic() + 0.05)
