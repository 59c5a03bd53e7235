"""The messages of the pod configuration."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar, Final

import msgspec

from supervision.addresses import ActorName
from supervision.message import Message, Question

POD_CONFIG: Final = ActorName("pod_config")


class SourcePods(Message, frozen=True):
    """From kube_client, to pod_config and status_manager: the full set of pods that the API server has for this node,
    as JSON, mirror pods included. After each list, and on Hello. A large one comes in parts (lists_in_parts.py)."""

    source: str
    pods: list[bytes]
    others: list[str] = []
    """In the last part: UIDs of all other pods, which were sent before."""
    more: bool = False
    """Another part follows: `pods` are not all."""
    coalesce: ClassVar[tuple[str, ...]] = ("source",)

    def coalesce_key(self) -> Hashable | None:
        return None if self.more else super().coalesce_key()


class SourcePod(Message, frozen=True):
    """From kube_client, to pod_config and status_manager: one pod was added or changed, or (`pod` empty) deleted."""

    source: str
    uid: str
    pod: bytes = b""
    coalesce: ClassVar[tuple[str, ...]] = ("source", "uid")


class PodQuarantined(Message, frozen=True):
    """From a worker that starts: its last three incarnations died while they handled this pod."""

    uid: str
    crashes: int
    coalesce: ClassVar[tuple[str, ...]] = ("uid",)


class GetSources(Question["PodSources"], frozen=True):
    """Answered with PodSources."""


class SourceState(msgspec.Struct, frozen=True):
    name: str
    path: str
    ready: bool
    pods: int
    errors: list[str] = []
    """The errors, with file and field."""


class PodSources(Message, frozen=True):
    sources: list[SourceState]
    ready: bool
