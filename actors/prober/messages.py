"""The messages of the prober."""

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
    """Its startup probe (if any) is known to have passed, e.g. before a restart of the prober."""


class ProbedPod(Message, frozen=True):
    """From a worker, on change and on Hello, for every pod with probes: its containers."""

    uid: str
    pod: bytes
    """JSON, as in PodOperation; empty with `gone`."""
    containers: list[ProbedContainer]
    deleting: bool = False
    gone: bool = False
    """Forget it."""
    coalesce: ClassVar[tuple[str, ...]] = ("uid",)


class PodAddress(Message, frozen=True):
    """From status_manager, on change and on Hello, for every pod with an address: where its probes go."""

    uid: str
    ip: str
    """status.podIP: for a hostNetwork pod the node's, on a dual-stack node of the node's first family. Empty: forget
    it."""
    coalesce: ClassVar[tuple[str, ...]] = ("uid",)
