"""A tracing span."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from enum import IntEnum

import msgspec

Value = str | bool | int | float
"""The value of an attribute."""
Attributes = Mapping[str, Value]


class Kind(IntEnum):
    """The kind of a span, with its number in OTLP."""

    INTERNAL = 1
    SERVER = 2
    CLIENT = 3


class SpanContext(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a span that its children need."""

    trace_id: bytes
    """16 bytes, not all zero."""
    span_id: bytes
    """8 bytes, not all zero."""
    sampled: bool
    trace_state: str = ""
    """Vendor-specific state, passed on."""
    remote: bool = False
    """It came from another process."""


class SpanEvent(msgspec.Struct, frozen=True):
    """An event within a span. `at`: nanoseconds since 1970."""

    at: int
    name: str
    attributes: Attributes


class Span:
    """A span lasts until `end`. A span that is not sampled has only its context."""

    __slots__ = ("_done", "_started_at", "attributes", "context", "end_ns", "error", "events", "kind", "links", "name",
                 "parent", "start_ns")  # fmt: skip

    def __init__(
        self, name: str, kind: Kind, context: SpanContext, parent: SpanContext | None, done: Callable[[Span], None]
    ) -> None:
        """`done` is called with the span when it has ended."""
        self.name, self.kind, self.context, self.parent, self._done = name, kind, context, parent, done
        self.attributes: dict[str, Value] = {}
        self.events: list[SpanEvent] = []
        self.links: tuple[SpanContext, ...] = ()
        self.error: str | None = None
        """The error; None on success."""
        self._started_at = time.monotonic_ns()
        self.start_ns, self.end_ns = time.time_ns(), 0

    def set(self, name: str, value: Value) -> None:
        """Set an attribute."""
        if self.context.sampled:
            self.attributes[name] = value

    def fail(self, text: str) -> None:
        """Mark the span as failed; the last call counts."""
        if self.context.sampled:
            self.error = text

    def raised(self, error: BaseException) -> None:
        """An exception ended it."""
        if self.context.sampled:
            text = str(error)
            attributes_of_error = {"exception.type": type(error).__qualname__, "exception.message": text}
            self.events.append(SpanEvent(time.time_ns(), "exception", attributes_of_error))
            self.error = text or type(error).__name__

    def end(self) -> None:
        """End it now, by the monotonic clock; a second call does nothing."""
        if not self.end_ns:
            self.end_ns = self.start_ns + time.monotonic_ns() - self._started_at
            self._done(self)
