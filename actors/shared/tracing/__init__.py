"""Tracing spans and their export to a collector (KubeletConfiguration.tracing).

`tracer.py` makes spans, `start.py` gives an actor its tracer. The other modules are imported only if tracing is
configured: `sampling`, `queue`, `encoding`, `exporting`.
"""
