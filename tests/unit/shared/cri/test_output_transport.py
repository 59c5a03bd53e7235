"""Outputs of commands: read one at a time, however long another command runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from actors.shared.cri import output_transport, transport
from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import AnswerTooLarge, CriError, DeadlineExceeded, NotFound
from actors.shared.cri.methods import EXEC_SYNC
from actors.shared.cri.output_transport import OutputTransport
from proto import cri_pb2 as cri
from tests.support.fake_cri import FakeRuntime, Fault, serve

LARGE = 8 << 20
SMALL = 1 << 20
"""More than gRPC takes of an answer that nobody reads, with all that is around it."""


class Counting:
    """Passes a runtime's socket on, and counts what it sends."""

    def __init__(self, socket: Path) -> None:
        self._socket, self.sent = socket, 0
        self.most = 1 << 40
        """No more is passed on."""

    @asynccontextmanager
    async def listening(self, path: Path) -> AsyncIterator[str]:
        server = await asyncio.start_unix_server(self._serve, path)
        try:
            yield str(path)
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_runtime, to_runtime = await asyncio.open_unix_connection(self._socket)
        asked = asyncio.create_task(self._pump(reader, to_runtime, count=False))
        await self._pump(from_runtime, writer, count=True)
        asked.cancel()
        for each in (writer, to_runtime):
            each.close()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, count: bool) -> None:
        while data := await reader.read(1 << 16):
            self.sent += len(data) if count else 0
            if count and self.sent > self.most:
                continue
            writer.write(data)
            await writer.drain()


def answering(monkeypatch: pytest.MonkeyPatch) -> FakeRuntime:
    """A runtime whose commands say how many bytes they write, and after how many seconds."""
    fake = FakeRuntime()

    async def run(request: cri.ExecSyncRequest) -> cri.ExecSyncResponse:
        size, seconds = request.cmd
        await asyncio.sleep(float(seconds))
        return cri.ExecSyncResponse(stdout=b"x" * int(size), exit_code=3)

    monkeypatch.setattr(fake, "do_ExecSync", run)
    return fake


def request(size: int) -> cri.ExecSyncRequest:
    return cri.ExecSyncRequest(container_id="c", cmd=[str(size), "0"])


async def test_an_output_that_waits_for_its_turn_stays_in_the_runtime(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counting = Counting(tmp_path / "s")
    async with serve(answering(monkeypatch), tmp_path / "s"), counting.listening(tmp_path / "p") as path:
        outputs = OutputTransport(path)
        async with outputs._read_permit:
            calls = [asyncio.create_task(outputs.call(EXEC_SYNC, request(LARGE), 20.0)) for _ in range(3)]
            done, _ = await asyncio.wait(calls, timeout=0.5)
            assert not done
            assert counting.sent < SMALL
        assert [len((await call).stdout) for call in calls] == [LARGE] * 3
        assert counting.sent > 3 * LARGE
        await outputs.close()


async def test_a_long_running_command_delays_no_output_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve(answering(monkeypatch), tmp_path / "s") as endpoint:
        client = CriClient(endpoint)
        long = asyncio.create_task(client.exec_sync("a", [str(LARGE), "1000"]))
        found = await asyncio.gather(*(client.exec_sync("b", [str(LARGE), "0"], 20) for _ in range(5)))
        assert [(one.exit_code, len(one.stdout)) for one in found] == [(3, LARGE)] * 5
        assert not long.done()
        long.cancel()
        await client.close()


async def test_failures_are_those_of_other_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "CHANNEL_OPTIONS", (("grpc.max_receive_message_length", SMALL),))
    fake = answering(monkeypatch)
    async with serve(fake, tmp_path / "s") as endpoint:
        client = CriClient(endpoint, request_seconds=0.1)
        with pytest.raises(AnswerTooLarge):
            await client.exec_sync("a", [str(LARGE), "0"], 20)
        fake.faults.add("ExecSync", Fault(error="NOT_FOUND", details="no container a", times=1))
        with pytest.raises(NotFound, match="no container a"):
            await client.exec_sync("a", ["1", "0"], 20)
        with pytest.raises(DeadlineExceeded):
            await client.exec_sync("a", ["1", "1000"], 1)
        await client.close()
    (tmp_path / "s").unlink(missing_ok=True)  # a server that ends may still take a connection for a moment
    gone = CriClient(endpoint)
    with pytest.raises(CriError, match="Error while dialing"):
        await gone.exec_sync("a", ["1", "0"], 1)
    await gone.close()


async def test_a_runtime_that_stops_in_the_middle_of_an_answer_does_not_hold_the_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_transport, "READ_SECONDS", 0.2)
    counting = Counting(tmp_path / "s")
    async with serve(answering(monkeypatch), tmp_path / "s"), counting.listening(tmp_path / "p") as path:
        outputs = OutputTransport(path)
        counting.most = SMALL
        with pytest.raises(DeadlineExceeded, match="the answer has not come within"):
            await outputs.call(EXEC_SYNC, request(LARGE), None)
        assert not outputs._read_permit.locked()
        await outputs.close()
