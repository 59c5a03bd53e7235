"""What one probe found."""

from __future__ import annotations

import os
from typing import Final, Literal

import msgspec

OUTPUT_BYTES: Final = 10 << 10
"""Of a body or of a command's output that is kept."""
USER_AGENT: Final = "kube-probe/1.36"


class Outcome(msgspec.Struct, frozen=True):
    """`error`: the probe itself could not be made, which says nothing of the container."""

    result: Literal["success", "failure", "error"]
    text: str = ""
    warning: bool = False
    """A success that users are told of."""


def success(text: str = "") -> Outcome:
    return Outcome("success", text)


def warning(text: str) -> Outcome:
    """A success with something odd about it."""
    return Outcome("success", text, warning=True)


def failure(text: str) -> Outcome:
    return Outcome("failure", text)


def error(text: str) -> Outcome:
    return Outcome("error", text)


def timed_out(seconds: float) -> Outcome:
    return failure(f"timed out after {seconds:g} s")


def kept(output: bytes) -> str:
    """Output as text, cut."""
    return output[:OUTPUT_BYTES].decode("utf-8", "replace")


def network_text(problem: Exception) -> str:
    """Why a connection failed, in the words of the system: asyncio's own say only where to."""
    number = getattr(problem, "errno", None)
    if isinstance(problem, OSError) and number and number > 0:
        return f"connect: {os.strerror(number).lower()}"
    return str(problem) or type(problem).__name__
