"""python -m tests.support.fake_cri SOCKET: a fake runtime on that socket, until SIGTERM or SIGINT."""

from __future__ import annotations

import asyncio
import signal
import sys

from .runtime import FakeRuntime
from .server import serve


async def main(path: str) -> None:
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    fake = FakeRuntime()
    async with serve(fake, path):
        await ended.wait()
    await fake.close()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m tests.support.fake_cri SOCKET")
    asyncio.run(main(sys.argv[1]))
