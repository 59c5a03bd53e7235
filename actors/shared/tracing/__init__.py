"""Spans of what the agent does, and their export to a collector (KubeletConfiguration.tracing).

`tracer.py` makes spans, `start.py` gives an actor its tracer; the rest is for where tracing is configured, and is
imported only there: which spans count (`sampling`), what waits (`queue`), the wire (`encoding`, `exporting`).
"""
