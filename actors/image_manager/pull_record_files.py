"""The files of pull records and intents. Runs in disposable processes: a disk may be slow or hang."""

from __future__ import annotations

import os
from pathlib import Path

from supervision.state_file import read_private, write_private

PULLING, PULLED = "image_manager/pulling", "image_manager/pulled"
"""Directories below the root directory, as in the kubelet."""
MAX_BYTES = 1 << 20


def read_all(root_dir: str) -> dict[str, dict[str, bytes]]:
    """The contents of all files by directory and name; b'' for one that cannot be read. Raises OSError for a directory
    that cannot be listed."""
    return {directory: _read(Path(root_dir, directory)) for directory in (PULLING, PULLED)}


def _read(directory: Path) -> dict[str, bytes]:
    try:
        names = sorted(name for name in os.listdir(directory) if name.startswith("sha256-"))
    except FileNotFoundError:
        return {}
    return {name: _content(directory / name) for name in names if not name.endswith(".tmp")}


def _content(path: Path) -> bytes:
    try:
        return read_private(path)[:MAX_BYTES]
    except OSError:
        return b""


def change(root_dir: str, written: dict[str, bytes], removed: list[str]) -> None:
    """Write these files, then remove those; names are below the root directory. Raises OSError."""
    for name, data in written.items():
        write_private(Path(root_dir, name), data)
    for name in removed:
        Path(root_dir, name).unlink(missing_ok=True)
