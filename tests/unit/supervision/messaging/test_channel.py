"""One connection: when handled messages are acknowledged, and what is not sent yet."""

from __future__ import annotations

import asyncio
from typing import Any

from supervision.messaging import channel as module
from supervision.messaging.channel import Channel, Flusher


class Owner:
    """It accepts each peer."""

    def opened(self, channel: Channel) -> bool:
        return True

    def closed(self, channel: Channel, error: object) -> None: ...


class Kernel:
    """A transport that takes what is written, except `kept` bytes."""

    def __init__(self) -> None:
        self.kept, self.written = 0, b""

    def set_write_buffer_limits(self, high: int) -> None: ...

    def write(self, data: bytes) -> None:
        self.written += data

    def get_write_buffer_size(self) -> int:
        return self.kept


def opened() -> tuple[Channel, Kernel]:
    owner: Any = Owner()
    channel, kernel = Channel(owner, Flusher(asyncio.get_running_loop())), Kernel()
    transport: Any = kernel
    channel.connection_made(transport)
    return channel, kernel


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
