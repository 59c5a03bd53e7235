"""The status of a command of which nobody knows how it ended."""

from __future__ import annotations

from typing import Final

import msgspec

RUNTIME_LEFT: Final = "the container runtime ended the connection before it told how the command ended"
IDLE: Final = "the stream was idle for streamingConnectionIdleTimeout, and is ended before the command"


def lost_status(cause: str) -> bytes:
    """For a caller a stream that ends without a status has succeeded, with all of its output."""
    return msgspec.json.encode(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": f"Internal error occurred: {cause}",
            "reason": "InternalError",
            "details": {"causes": [{"message": cause}]},
            "code": 500,
        }
    )
