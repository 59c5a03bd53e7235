"""A mount that hangs, as that of a dead server: a FUSE file system whose program never answers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from actors.shared.linux import mount_calls

DEVICE: Final = "/dev/fuse"


def is_possible() -> bool:
    return os.geteuid() == 0 and os.access(DEVICE, os.R_OK | os.W_OK)


@contextmanager
def hung_mount(directory: Path) -> Iterator[None]:
    """Whatever looks at `directory` hangs, until it is killed or this is over."""
    directory.mkdir(parents=True, exist_ok=True)
    program = os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC)
    try:
        mount_calls.mount("dead", str(directory), "fuse", 0, f"fd={program},rootmode=40000,user_id=0,group_id=0")
        try:
            yield
        finally:
            mount_calls.umount(str(directory), mount_calls.MNT_DETACH)
    finally:
        os.close(program)  # who waits for an answer gets an error
