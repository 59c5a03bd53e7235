"""The outcome of one run of a probe."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

OUTPUT_BYTES: Final = 10 << 10
"""How much is kept of a response body or of a command's output."""
USER_AGENT: Final = "kube-probe/1.36"


class ProbeOutcome(msgspec.Struct, frozen=True):
    """`error`: the probe itself could not run, which proves nothing about the container."""

    result: Literal["success", "failure", "error"]
    text: str = ""
    """For the event: the reason of a failure or an error, the output of a success."""
    warning: bool = False
    """A success that has an event."""
    state: Literal["unknown", "failure"] = "unknown"
    """The text about the container in the event of an error."""


def success(text: str = "") -> ProbeOutcome:
    return ProbeOutcome("success", text)


def warning(text: str) -> ProbeOutcome:
    """A success with an event."""
    return ProbeOutcome("success", text, warning=True)


def failure(text: str) -> ProbeOutcome:
    return ProbeOutcome("failure", text)


def error(text: str, state: Literal["unknown", "failure"] = "unknown") -> ProbeOutcome:
    return ProbeOutcome("error", text, state=state)


def kept(output: bytes) -> str:
    """Output as text, cut to OUTPUT_BYTES."""
    return output[:OUTPUT_BYTES].decode("utf-8", "replace")
