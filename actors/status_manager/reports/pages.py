"""Answers about all pods come in pages, so that pods which are large together fit into messages. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

from ..pods.tracked_pod import TrackedPod

PAGE_BYTES: Final = 16 << 20
T = TypeVar("T")


def page(
    pods: Iterable[TrackedPod], after: str, make: Callable[[TrackedPod], T], size: Callable[[T], int]
) -> tuple[list[T], str]:
    """What `make` returns of the pods with a UID above `after`, in the order of the UIDs, up to PAGE_BYTES or one pod;
    and the last UID, if there are more."""
    items, room = list[T](), PAGE_BYTES
    last = after
    for pod in sorted((each for each in pods if each.uid > after), key=lambda each: each.uid):
        item = make(pod)
        room -= size(item)
        if items and room < 0:
            return items, last
        items.append(item)
        last = pod.uid
    return items, ""
