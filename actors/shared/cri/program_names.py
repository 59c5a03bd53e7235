"""Refuses programs whose name is longer than any path.

runc puts the name into the text of its error. Of one that fills a pipe (64 KiB) it waits for a reader that the shim of
containerd 1.6 starts only later, so that the shim ends no container of this pod any more: a user who may run commands
in a pod would keep it from ending.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from supervision.errors import UNREADABLE

from .errors import RuntimeFailure

MAX_BYTES: Final = 4095
"""PATH_MAX of Linux, without the zero at the end."""


class _Config(msgspec.Struct, frozen=True, rename="pascal"):
    entrypoint: list[str] | None = None


class _Spec(msgspec.Struct, frozen=True):
    config: _Config = _Config()


class _Info(msgspec.Struct, frozen=True, rename={"spec": "imageSpec"}):
    spec: _Spec


def is_too_long(program: str) -> bool:
    return len(program.encode(errors="replace")) > MAX_BYTES


def has_entrypoint(info: str) -> bool:
    """Whether an image has a program of its own, so that arguments are none. `info`: of a verbose ImageStatus, as
    containerd and CRI-O have it: JSON with the image's OCI configuration. True if it cannot be read."""
    try:
        return bool(msgspec.json.decode(info, type=_Info).spec.config.entrypoint)
    except UNREADABLE:
        return True


def check_program(method: str, command: Sequence[str]) -> None:
    """Raises RuntimeFailure, as a runtime does that finds no such program. `method` of the CRI."""
    if command and is_too_long(command[0]):
        size = len(command[0].encode(errors="replace"))
        text = f"exec: {command[0][:40]!r}...: the name of the program has {size} bytes: file name too long"
        raise RuntimeFailure(method, "UNKNOWN", text)
