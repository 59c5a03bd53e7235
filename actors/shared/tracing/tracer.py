"""Makes spans. A task and the tasks that it starts know the current span (contextvars).

    with tracer.span("syncPod", {"k8s.pod.uid": uid}) as span:
        ...                                       # spans that are made in here are its children

`OFF` does nothing: what actors have where tracing is not configured.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Final

from . import trace_context
from .sampling import is_sampled
from .span import Attributes, Kind, Span, SpanContext

NOTHING: Final[Attributes] = MappingProxyType({})
_current: ContextVar[SpanContext | None] = ContextVar("span", default=None)


def _forget(span: Span) -> None:
    """Discards a span that is not sampled."""


_NOWHERE: Final = SpanContext(trace_id=bytes(16), span_id=bytes(8), sampled=False)
_NOBODY: Final = Span("", Kind.INTERNAL, _NOWHERE, None, _forget)


class Tracer:
    """The tracer without tracing: does nothing, at no cost."""

    def start(
        self,
        name: str,
        attributes: Attributes = NOTHING,
        *,
        kind: Kind = Kind.INTERNAL,
        parent: SpanContext | None = None,
        link: SpanContext | None = None,
    ) -> Span:
        """Start a span that the caller must end and that is not the current one.

        Its parent is `parent`, else the current span. With a `link` it is the root of a new trace that links to the
        other.
        """
        return _NOBODY

    @contextmanager
    def around(self, span: Span, expected: tuple[type[Exception], ...] = ()) -> Iterator[Span]:
        """Make it the current span of a block, and end it. An exception of the block, unless `expected`, marks it as
        failed, and propagates."""
        yield span

    @contextmanager
    def span(
        self,
        name: str,
        attributes: Attributes = NOTHING,
        *,
        kind: Kind = Kind.INTERNAL,
        parent: SpanContext | None = None,
    ) -> Iterator[Span]:
        """`start` and `around` in one."""
        with self.around(self.start(name, attributes, kind=kind, parent=parent)) as span:
            yield span

    @contextmanager
    def within(self, traceparent: str) -> Iterator[None]:
        """Run the block within a span of another actor; '' is none."""
        yield


OFF: Final = Tracer()


class RecordingTracer(Tracer):
    """Passes each ended sampled span to `done`. `bound`: see `sampling.bound_of`."""

    def __init__(self, bound: int, done: Callable[[Span], None]) -> None:
        self._bound, self._done = bound, done

    def start(
        self,
        name: str,
        attributes: Attributes = NOTHING,
        *,
        kind: Kind = Kind.INTERNAL,
        parent: SpanContext | None = None,
        link: SpanContext | None = None,
    ) -> Span:
        above = None if link is not None else parent or _current.get()
        trace_id = above.trace_id if above is not None else os.urandom(16)
        context = SpanContext(
            trace_id=trace_id,
            span_id=os.urandom(8),
            sampled=is_sampled(above, trace_id, self._bound),
            trace_state=above.trace_state if above is not None else "",
        )
        span = Span(name, kind, context, above, self._done if context.sampled else _forget)
        if context.sampled:
            span.attributes.update(attributes)
            span.links = (link,) if link is not None else ()
        return span

    @contextmanager
    def around(self, span: Span, expected: tuple[type[Exception], ...] = ()) -> Iterator[Span]:
        token = _current.set(span.context)
        try:
            yield span
        except expected:
            raise
        except Exception as error:
            span.raised(error)
            raise
        finally:
            _current.reset(token)
            span.end()

    @contextmanager
    def within(self, traceparent: str) -> Iterator[None]:
        token = _current.set(trace_context.read(traceparent))
        try:
            yield
        finally:
            _current.reset(token)


def traceparent_of_current() -> str:
    """The current span, for a message to another actor; '' for none."""
    context = _current.get()
    return trace_context.traceparent(context) if context is not None else ""


def headers_of(span: Span) -> tuple[tuple[str, str], ...]:
    """The HTTP headers or gRPC metadata that propagate this span."""
    return () if span is _NOBODY else trace_context.headers(span.context)
