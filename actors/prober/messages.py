"""What the prober is told."""

from __future__ import annotations

from typing import ClassVar, Final

import msgspec

from supervision.addresses import ActorName
from supervision.message import Message

PROBER: Final = ActorName("prober")


class ProbedContainer(msgspec.Struct, frozen=True):
    name: str
    id: str
    running: bool
    started_ns: int
    started: bool = False
    """Whether its startup probe (if any) is known to have passed, e.g. before a restart of the prober."""


class ProbedPod(Message, frozen=True):
    """From a worker, on change and on Hello: what there is to probe. Sent for every pod with probes."""

    uid: str
    pod: bytes
    ip: str
    containers: list[ProbedContainer]
    deleting: bool = False
    gone: bool = False
    """Forget it."""
    coalesce: ClassVar[tuple[str, ...]] = ("uid",)
