"""One connection: when handled messages are acknowledged, and what is not sent yet."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from supervision.messaging import channel as module
from supervision.messaging.channel import Channel, Flusher
from supervision.messaging.wire import LARGE_BYTES, Frame, FrameWriter, WireError, encode
from supervision.protocol import Done


class Owner:
    """It notes what it gets."""

    def __init__(self, accepts: bool) -> None:
        self._accepts = accepts
        self.frames: list[Frame] = []
        self.errors: list[WireError | None] = []

    def opened(self, channel: Channel) -> bool:
        return self._accepts

    def received(self, channel: Channel, frames: list[Frame]) -> None:
        self.frames += frames

    def closed(self, channel: Channel, error: WireError | None) -> None:
        self.errors.append(error)


class Kernel:
    """A transport that takes what is written, except `kept` bytes."""

    def __init__(self) -> None:
        self.kept, self.written, self.is_aborted = 0, b"", False

    def set_write_buffer_limits(self, high: int) -> None: ...

    def write(self, data: bytes) -> None:
        self.written += data

    def abort(self) -> None:
        self.is_aborted = True

    def get_write_buffer_size(self) -> int:
        return self.kept


def connected(*, accepts: bool = True) -> tuple[Channel, Kernel, Owner]:
    owner: Any = Owner(accepts)
    channel, kernel = Channel(owner, Flusher(asyncio.get_running_loop())), Kernel()
    transport: Any = kernel
    channel.connection_made(transport)
    return channel, kernel, owner


def opened() -> tuple[Channel, Kernel]:
    return connected()[:2]


def sent(*texts: str) -> bytes:
    """The bytes of messages with these texts."""
    writer = FrameWriter()
    for text in texts:
        writer.add(encode("a", Done(text)))
    return writer.take()


async def test_what_is_no_frame_ends_the_connection_after_the_frames_before_it() -> None:
    channel, kernel, owner = connected()
    channel.data_received(sent("one") + (LARGE_BYTES + 1).to_bytes(4, "big"))
    assert [frame.message() for frame in owner.frames] == [Done("one")]
    assert kernel.is_aborted
    channel.connection_lost(None)
    (error,) = owner.errors
    assert isinstance(error, WireError)


async def test_the_first_reason_to_drop_a_connection_is_told() -> None:
    channel, _, owner = connected()
    for text in ("first", "second"):
        channel.refuse(WireError(text))
    channel.connection_lost(None)
    assert [str(error) for error in owner.errors] == ["first"]


@pytest.mark.parametrize("accepts", [True, False])
async def test_only_to_an_accepted_peer_something_is_written(accepts: bool) -> None:
    channel, kernel, _ = connected(accepts=accepts)
    channel.write(encode("a", Done("one")))
    channel.flush()
    assert (bool(kernel.written), kernel.is_aborted) == (accepts, not accepts)


async def test_nothing_is_written_while_the_kernel_takes_no_more() -> None:
    channel, kernel = opened()
    channel.pause_writing()
    channel.write(encode("a", Done("one")))
    channel.flush()
    assert kernel.written == b""
    channel.resume_writing()
    assert kernel.written == sent("one")


async def test_handled_messages_are_acknowledged_by_their_number_or_their_bytes() -> None:
    channel, _ = opened()
    assert [channel.handled(1) for _ in range(module._ACK_MESSAGES)] == [*[False] * (module._ACK_MESSAGES - 1), True]
    channel.acknowledge()
    assert not channel.handled(module._ACK_BYTES - 1)
    assert channel.handled(1)
    channel.acknowledge()
    assert not channel.handled(1)


async def test_bytes_wait_until_this_process_and_the_kernel_have_taken_them() -> None:
    channel, kernel = opened()
    waiting = [channel.unsent]
    channel.handled(1)
    channel.acknowledge()
    waiting.append(channel.unsent)
    channel.flush()
    assert kernel.written
    waiting.append(channel.unsent)
    kernel.kept = 5
    waiting.append(channel.unsent)
    assert waiting == [False, True, False, True]


async def test_nothing_waits_on_a_closed_connection() -> None:
    channel, kernel = opened()
    kernel.kept = 5
    channel.connection_lost(None)
    assert not channel.unsent
