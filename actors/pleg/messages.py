"""The messages of the PLEG."""

from __future__ import annotations

from typing import ClassVar, Final

from actors.shared.cri.model import PodRuntime
from supervision.addresses import ActorName
from supervision.message import Message, Question

PLEG: Final = ActorName("pleg")


class PodNetwork(Message, frozen=True):
    """From heartbeat_client, each time it has seen the node: the range of addresses that the cluster gave its pods."""

    cidr: str
    """Two, joined by a comma, on a dual-stack node."""
    coalesce: ClassVar[tuple[str, ...]] = ()


class StartHangs(Message, frozen=True):
    """From a pod worker, each time that a start which does not end keeps a container from being started or removed."""

    container_id: str


class ContainersUnlisted(Message, frozen=True):
    """From a pod worker, each time that it finds running containers of a pod that the runtime does not list."""

    uid: str
    container_ids: list[str]


class GetRuntimePods(Question["RuntimeSnapshot"], frozen=True):
    """Answered with RuntimeSnapshot."""


class RuntimeSnapshot(Message, frozen=True):
    """Everything the runtime has, as of the last relist (`at`, by the monotonic clock; 0: none yet)."""

    pods: list[PodRuntime]
    at: float
    runtime_ready: bool
    network_ready: bool
    message: str = ""
