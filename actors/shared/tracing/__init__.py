"""Tracing spans and their export to a collector (KubeletConfiguration.tracing).

`tracer.py` makes spans, `start.py` gives an actor its tracer. The other modules are imported only if tracing is
configured: `sampling`, `queue`, `encoding`, `exporter`.

trace_context.py  the context of a span as text: W3C Trace Context, https://www.w3.org/TR/trace-context/
span.py           a tracing span
"""
