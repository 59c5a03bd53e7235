"""Which traces are recorded: the parent's decision, and of those without a parent one in so many. Pure."""

from __future__ import annotations

from typing import Final

from .span import SpanContext

MILLION: Final = 1_000_000
_RANGE: Final = 1 << 63


def bound_of(per_million: int | None) -> int:
    """Trace ids whose last eight bytes, without their lowest bit, are below this are sampled: all processes decide
    alike, those in Go too."""
    return _RANGE * (per_million or 0) // MILLION


def is_sampled(parent: SpanContext | None, trace_id: bytes, bound: int) -> bool:
    """`bound` is that of `bound_of`."""
    if parent is not None:
        return parent.sampled
    return int.from_bytes(trace_id[8:], "big") >> 1 < bound
