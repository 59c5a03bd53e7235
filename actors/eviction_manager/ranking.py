"""The order in which pods are evicted. Pure.

Source: the kubelet's ranking. Memory and disk: pods that use more than they request, then lower priorities, then the
largest usage over the request. Process IDs: lower priorities, then the most processes. A pod with unknown usage comes
before the others.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class EvictionCandidate(msgspec.Struct, frozen=True, kw_only=True):
    """A pod with its usage of the resource that the node lacks."""

    uid: str
    priority: int = 0
    request: int = 0
    """Bytes; 0 for inodes and process IDs, which cannot be requested."""
    used: int | None = None
    """Bytes, inodes or processes; None: unknown."""


def ranked(resource: str, candidates: Iterable[EvictionCandidate]) -> list[EvictionCandidate]:
    """The first one is evicted. Equals keep their order."""
    return sorted(candidates, key=_by_priority if resource == "pids" else _by_request)


def _by_request(one: EvictionCandidate) -> tuple[bool, bool, int, int]:
    if one.used is None:
        return (False, False, one.priority, 0)
    return (True, one.used <= one.request, one.priority, one.request - one.used)


def _by_priority(one: EvictionCandidate) -> tuple[int, bool, int]:
    return (one.priority, one.used is not None, -(one.used or 0))
