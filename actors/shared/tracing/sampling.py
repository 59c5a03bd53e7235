"""Sampling: a trace follows its parent's decision; without a parent a fraction of traces is recorded. Pure."""

from __future__ import annotations

from typing import Final

from .span import SpanContext

MILLION: Final = 1_000_000
_RANGE: Final = 1 << 63


def bound_of(per_million: int | None) -> int:
    """The bound below which the last eight bytes of a trace id, without their lowest bit, are sampled. All processes
    decide alike, including those in Go."""
    return _RANGE * (per_million or 0) // MILLION


def is_sampled(parent: SpanContext | None, trace_id: bytes, bound: int) -> bool:
    """`bound` comes from `bound_of`."""
    if parent is not None:
        return parent.sampled
    return int.from_bytes(trace_id[8:], "big") >> 1 < bound
