"""An agent whose wall clock jumps: `python -m tests.support.jumping_clock start ...` is `supervise start ...`, where
`time.time` is as many seconds off as the file says that the environment names. Every process of the tree is forked from
this one, so all see each jump at once. The monotonic clock is nobody's to set, here as on a real machine.

gRPC sees the true clock: it makes its deadlines in Python and holds them against the kernel's clock, which nobody has
set here, so with a clock that is set back each of its calls would be over at once."""

from __future__ import annotations

import mmap
import os
import struct
import sys
import time
from pathlib import Path
from typing import Final

VARIABLE: Final = "TROUPELET_TEST_CLOCK"
_OFFSET: Final = struct.Struct("d")


def create(path: Path) -> None:
    """No jump so far."""
    path.write_bytes(_OFFSET.pack(0.0))


def jump(path: Path, seconds: float) -> None:
    """Set the clock of all who run that much ahead of the true one; behind it if negative."""
    with path.open("r+b") as file, mmap.mmap(file.fileno(), _OFFSET.size) as page:
        _OFFSET.pack_into(page, 0, seconds)


def _install(path: str) -> None:
    with Path(path).open("rb") as file:
        page = mmap.mmap(file.fileno(), _OFFSET.size, prot=mmap.PROT_READ)
    true, true_ns = time.time, time.time_ns

    def offset() -> float:
        caller = str(sys._getframe(2).f_globals.get("__name__"))
        return 0.0 if caller.startswith("grpc") else float(_OFFSET.unpack_from(page)[0])

    setattr(time, "time", lambda: true() + offset())  # noqa: B010 - before anybody has imported it
    setattr(time, "time_ns", lambda: true_ns() + int(offset() * 1e9))  # noqa: B010


if __name__ == "__main__":
    _install(os.environ[VARIABLE])
    from actors.agent.command import main

    sys.exit(main())
