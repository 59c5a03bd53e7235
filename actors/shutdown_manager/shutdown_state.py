"""The state file of the last shutdown, read after the boot.

It has the kubelet's name and fields, and two of our own. It is synced: the machine is about to go down.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from actors.shared.kube import times
from supervision.errors import UNREADABLE, error_reason
from supervision.state_file import read_private, write_private

FILE: Final = "graceful_node_shutdown_state"


class ShutdownRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The last shutdown. Times are RFC 3339; empty when not known."""

    start: str = msgspec.field(default="", name="startTime")
    end: str = msgspec.field(default="", name="endTime")
    boot: str = ""
    """ID of the boot in which the shutdown started."""
    pods: tuple[str, ...] = ()
    """UIDs of the API pods that the shutdown has ended, and whose last status the API server does not have yet."""

    @property
    def is_open(self) -> bool:
        """It has started, and no end is recorded."""
        return bool(self.start) and not self.end


class ShutdownStateFile:
    """`last`: what it is to have; `problem`: why it could not be read. A shutdown continues without it."""

    def __init__(self, root_dir: str) -> None:
        self.path = f"{root_dir}/{FILE}"
        self.problem = ""
        self.last = ShutdownRecord()

    def load(self) -> None:
        try:
            self.last = msgspec.json.decode(read_private(self.path), type=ShutdownRecord)
        except FileNotFoundError:
            pass
        except (OSError, *UNREADABLE) as error:
            self.problem = f"{self.path} cannot be read: {error_reason(error)}"

    def put(self, last: ShutdownRecord) -> bool:
        """Replace `last`, which `write` writes. Returns whether it differs."""
        before, self.last = self.last, last
        return last != before

    def write(self) -> None:
        """Raises OSError."""
        write_private(Path(self.path), msgspec.json.encode(self.last))


def seconds(text: str) -> float:
    """Seconds since 1970; 0.0 for a text that is no time, and for Go's zero time."""
    return max(times.seconds(text), 0.0)
