"""What one run of a probe found."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

OUTPUT_BYTES: Final = 10 << 10
"""How much is kept of a response body or of a command's output."""
USER_AGENT: Final = "kube-probe/1.36"


class Outcome(msgspec.Struct, frozen=True):
    """`error`: the probe itself could not be run, which says nothing about the container."""

    result: Literal["success", "failure", "error"]
    text: str = ""
    """For the event: the reason of a failure or an error, the output of a success."""
    warning: bool = False
    """A success that has an event."""


def success(text: str = "") -> Outcome:
    return Outcome("success", text)


def warning(text: str) -> Outcome:
    """A success with an event."""
    return Outcome("success", text, warning=True)


def failure(text: str) -> Outcome:
    return Outcome("failure", text)


def error(text: str) -> Outcome:
    return Outcome("error", text)


def kept(output: bytes) -> str:
    """Output as text, cut to OUTPUT_BYTES."""
    return output[:OUTPUT_BYTES].decode("utf-8", "replace")
