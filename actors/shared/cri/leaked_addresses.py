"""Addresses of pods that the CNI plug-in host-local still has, and no sandbox: one for each time that containerd dies
during RunPodSandbox. After some two hundred of them no pod of this node starts any more.

The plug-in keeps a file for each address, named by it, with the id of the sandbox in the first line.
"""

from __future__ import annotations

import fcntl
import ipaddress
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

FOLDER: Final = "addresses"
"""The directory of the plug-in (its dataDir), beside the socket of a managed runtime."""
LOCK: Final = "lock"
"""The plug-in's lock of a network's addresses."""
LEAST_AGE_SECONDS: Final = 600.0
"""RunPodSandbox may take four minutes; the list with which an address is compared may be a minute old."""


def release(directory: str, known: Collection[str], now: float) -> list[str]:
    """Remove the addresses that are older than any call that may still be making their sandbox, and belong to none of
    `known`; returns them. `directory`: dataDir of the plug-in, with a folder for each network. `now`: seconds since
    1970."""
    released = []
    for network in sorted(Path(directory).glob("*/")):
        with suppress(OSError), open(network / LOCK, "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # else the next sweep does it
            for file in _leaked(network, known, now):
                file.unlink(missing_ok=True)
                released.append(file.name)
    return released


def _leaked(network: Path, known: Collection[str], now: float) -> Iterator[Path]:
    for file in sorted(network.iterdir()):
        try:
            ipaddress.ip_address(file.name)
            sandbox = file.read_text(errors="replace").split("\n")[0].strip()
            if sandbox and sandbox not in known and now - file.stat().st_mtime >= LEAST_AGE_SECONDS:
                yield file
        except (ValueError, OSError):
            continue
