"""A command whose end nobody tells has failed, for a caller that speaks SPDY and for one that speaks WebSocket."""

from __future__ import annotations

import asyncio

import pytest
from tornado.iostream import IOStream

from actors.http_servers.serving.loop_turns import LoopTurns
from actors.http_servers.streaming import spdy, websocket
from actors.http_servers.streaming.joined_streams import join
from actors.http_servers.streaming.lost_status import IDLE, RUNTIME_LEFT, lost_status
from actors.http_servers.streaming.options import Streams
from actors.http_servers.streaming.passed_status import PassedStatus
from actors.http_servers.streaming.runtime_stream import RuntimeStream
from actors.http_servers.streaming.stream_translator import Channels, join_translated
from tests.actors.http_servers.test_last_output import connected, messages

EXEC = Streams(stdin=False, stdout=True, stderr=False, tty=False)


def opened() -> bytes:
    client = spdy.Encoder()
    return client.open(1, {"streamType": "error"}) + client.open(3, {"streamType": "stdout"})


async def told(caller: IOStream, task: asyncio.Task[None]) -> bytes:
    read = await asyncio.wait_for(caller.read_until_close(), 20)
    caller.close()
    await asyncio.wait_for(task, 20)
    return read


@pytest.mark.parametrize("cause", [RUNTIME_LEFT, IDLE])
async def test_a_caller_over_spdy_is_told_that_the_end_is_not_known(cause: str) -> None:
    near, far_caller = connected()
    far_runtime, far = connected()
    caller, runtime, idle = IOStream(far_caller), IOStream(far_runtime), 0.5 if cause == IDLE else 0.0
    task = asyncio.ensure_future(join(IOStream(near), RuntimeStream(far), idle, LoopTurns(), PassedStatus()))
    await caller.write(opened())
    assert await runtime.read_bytes(len(opened())) == opened()
    output = spdy.data(3, b"half")
    await runtime.write(output)
    if cause == RUNTIME_LEFT:
        runtime.close()
    assert await told(caller, task) == output + spdy.data(1, lost_status(cause), final=True)
    runtime.close()


async def test_a_caller_over_a_websocket_is_told_of_a_stream_that_was_idle() -> None:
    near, far_caller = connected()
    far_runtime, far = connected()
    caller, runtime = IOStream(far_caller), IOStream(far_runtime)
    between = Channels(EXEC)
    task = asyncio.ensure_future(join_translated(IOStream(near), RuntimeStream(far), between, 0.5, LoopTurns()))
    close = websocket.close_frame()
    read = await told(caller, task)
    assert read.endswith(close)
    assert messages(read.removesuffix(close))[-1] == b"\x03" + lost_status(IDLE)
    runtime.close()
