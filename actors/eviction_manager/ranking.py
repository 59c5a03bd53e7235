"""Who is evicted first. Pure.

Source: the reference's ranking. Memory and disk: pods that use more than they request, then low priorities, then who
uses most over its request. Process IDs: low priorities, then who has most. A pod of which nothing is known goes before
others.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class Contender(msgspec.Struct, frozen=True, kw_only=True):
    """One pod, by what it uses of the resource that the node is short of."""

    uid: str
    priority: int = 0
    request: int = 0
    """Bytes; 0 for inodes and process IDs, which nobody requests."""
    used: int | None = None
    """Bytes, inodes or processes; None: not known."""


def ranked(resource: str, contenders: Iterable[Contender]) -> list[Contender]:
    """The first one is the victim. Equals stay in their order."""
    return sorted(contenders, key=_by_priority if resource == "pids" else _by_request)


def _by_request(one: Contender) -> tuple[bool, bool, int, int]:
    if one.used is None:
        return (False, False, one.priority, 0)
    return (True, one.used <= one.request, one.priority, one.request - one.used)


def _by_priority(one: Contender) -> tuple[int, bool, int]:
    return (one.priority, one.used is not None, -(one.used or 0))
