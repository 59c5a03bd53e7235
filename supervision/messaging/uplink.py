"""The connection of an actor with the fork server: a socket pair made before the fork, so both ends know each other."""

from __future__ import annotations

import asyncio
import socket
from typing import Protocol

from ..message import Message
from .channel import Channel, Flusher
from .wire import Ack, Frame, WireError, encode


class UplinkOwner(Protocol):
    """The actor's process."""

    @property
    def name(self) -> str: ...

    flusher: Flusher

    def answered(self, name: str, frame: Frame) -> None: ...
    def ordered(self, message: Message) -> None: ...
    def orphaned(self) -> None: ...


class Uplink:
    """The actor's end."""

    def __init__(self, owner: UplinkOwner) -> None:
        self._owner = owner
        self._channel = Channel(self, owner.flusher)

    async def open(self, sock: socket.socket) -> None:
        await asyncio.get_running_loop().create_unix_connection(lambda: self._channel, sock=sock)

    def send(self, message: Message, ask: int = 0) -> None:
        self._channel.write(encode(self._owner.name, message, ask))

    @property
    def unsent(self) -> bool:
        return self._channel.unsent

    def opened(self, channel: Channel) -> bool:
        return True

    def received(self, channel: Channel, frames: list[Frame]) -> None:
        for frame in frames:
            if frame.answer:
                self._owner.answered(frame.sender, frame)
            else:
                self._owner.ordered(frame.message())

    def acknowledged(self, channel: Channel, ack: Ack) -> None:
        channel.refuse(WireError("the fork server acknowledges nothing"))

    def closed(self, channel: Channel, error: WireError | None) -> None:
        self._owner.orphaned()
