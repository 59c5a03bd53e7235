"""Kernel settings for memory shortage and panics: set at start, or only checked (protectKernelDefaults).

The values are the kubelet's: memory may be overcommitted, and the kernel reboots after a panic.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

WANTED: Final = {
    "vm.overcommit_memory": 1,
    "vm.panic_on_oom": 0,
    "kernel.panic": 10,
    "kernel.panic_on_oops": 1,
    "kernel.keys.root_maxkeys": 1_000_000,
    "kernel.keys.root_maxbytes": 25_000_000,
}


def differing(proc: str = "/proc") -> dict[str, int | None]:
    """The settings that differ, with their values; None for one that cannot be read."""
    found = {name: _read(_file(proc, name)) for name in WANTED}
    return {name: value for name, value in found.items() if value != WANTED[name]}


def set_all(proc: str = "/proc") -> Iterator[str]:
    """Set the settings that differ; return a warning for each failure. Settings that this kernel lacks are skipped."""
    for name in differing(proc):
        file = _file(proc, name)
        if not file.exists():
            continue
        try:
            file.write_text(str(WANTED[name]))
        except OSError as error:
            yield f"{name} = {WANTED[name]} is not granted: {error.strerror}"


def _file(proc: str, name: str) -> Path:
    return Path(proc, "sys", *name.split("."))


def _read(file: Path) -> int | None:
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return None
