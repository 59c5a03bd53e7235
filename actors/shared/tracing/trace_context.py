"""The context of a span as text: W3C Trace Context, https://www.w3.org/TR/trace-context/. Pure."""

from __future__ import annotations

import re
from typing import Final

from .span import SpanContext

TRACEPARENT: Final = "traceparent"
TRACESTATE: Final = "tracestate"
MAX_STATE: Final = 512
"""The maximum length of a tracestate; a longer one is dropped, as the standard allows."""
_SAMPLED: Final = 1
_PARENT: Final = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.ASCII)


def read(traceparent: str, tracestate: str = "") -> SpanContext | None:
    """The context from a caller; None if it is invalid, as if the caller had sent none."""
    found = _PARENT.fullmatch(traceparent.strip())
    if found is None:
        return None
    version, trace_id, span_id, flags, more = found.groups()
    if version == "ff" or (version == "00" and more) or not int(trace_id, 16) or not int(span_id, 16):
        return None
    state = tracestate.strip()
    return SpanContext(
        trace_id=bytes.fromhex(trace_id),
        span_id=bytes.fromhex(span_id),
        sampled=bool(int(flags, 16) & _SAMPLED),
        trace_state=state if len(state) <= MAX_STATE and state.isascii() and state.isprintable() else "",
        remote=True,
    )


def traceparent(context: SpanContext) -> str:
    """The header of a call within this span."""
    return f"00-{context.trace_id.hex()}-{context.span_id.hex()}-{int(context.sampled):02x}"


def headers(context: SpanContext) -> tuple[tuple[str, str], ...]:
    """The headers, one or both; gRPC uses them as metadata."""
    parent = (TRACEPARENT, traceparent(context))
    return (parent, (TRACESTATE, context.trace_state)) if context.trace_state else (parent,)
