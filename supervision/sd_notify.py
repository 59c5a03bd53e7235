"""The sd_notify(3) protocol of Type=notify units: a datagram to $NOTIFY_SOCKET. Does nothing without one.

The environment is read at each call: it is the fork server's own, and nothing here is kept.
"""

from __future__ import annotations

import os
import socket


def notify(state: str) -> bool:
    """Send lines of `NAME=value`. Returns whether they were sent: False without a socket or a reader."""
    path = os.environ.get("NOTIFY_SOCKET", "")
    if not path or path[0] not in "/@":
        return False
    # '@' replaces the null byte at the start of abstract socket names
    address = "\0" + path[1:] if path[0] == "@" else path
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK) as sock:
        try:
            sock.sendto(state.encode(), address)
        except OSError:
            return False
    return True


def ready(status: str = "ready") -> None:
    notify(f"READY=1\nSTATUS={_line(status)}\nMAINPID={os.getpid()}")


def stopping(status: str = "stopping") -> None:
    notify(f"STOPPING=1\nSTATUS={_line(status)}")


def status(text: str) -> None:
    """A line for `systemctl status`."""
    notify(f"STATUS={_line(text)}")


def ping() -> None:
    """Feed the watchdog."""
    notify("WATCHDOG=1")


def set_watchdog(seconds: float) -> None:
    """Replace the unit's watchdog timeout until the next start of the service."""
    notify(f"WATCHDOG_USEC={round(seconds * 1e6)}")


def extend_timeout(seconds: float) -> None:
    """Extend the time for the start or stop under way to `seconds` from now; an end that was set later stays."""
    notify(f"EXTEND_TIMEOUT_USEC={round(seconds * 1e6)}")


def watchdog_interval() -> float:
    """The watchdog's timeout in seconds; send pings at half of it. 0: no watchdog."""
    if os.environ.get("WATCHDOG_PID") not in (None, "", str(os.getpid())):
        return 0.0
    try:
        microseconds = int(os.environ.get("WATCHDOG_USEC", "0"))
    except ValueError:
        return 0.0
    return max(0, microseconds) / 1e6


def _line(text: str) -> str:
    return " ".join(text.split())
