"""A profile in the form that `go tool pprof` reads: gzipped protobuf, with tables of names and places. Pure.

https://github.com/google/pprof/blob/main/proto/README.md
"""

from __future__ import annotations

import gzip

from .stacks import StackFrame, StackProfile, ValueKind


def encoded(profile: StackProfile, now: float) -> bytes:
    """`now`: Unix time in seconds at which the profile was started."""
    # rarely used: imported on demand to save memory
    from proto import profile_pb2 as pb2

    strings: dict[str, int] = {"": 0}
    functions: dict[tuple[str, str, int], int] = {}
    places: dict[StackFrame, int] = {}
    made = pb2.Profile(time_nanos=int(now * 1e9), duration_nanos=int(profile.seconds * 1e9))

    def text(value: str) -> int:
        return strings.setdefault(value, len(strings))

    def kind(value: ValueKind) -> pb2.ValueType:
        return pb2.ValueType(type=text(value.name), unit=text(value.unit))

    def function(frame: StackFrame) -> int:
        key = (frame.function, frame.path, frame.first_line)
        if key not in functions:
            functions[key] = len(functions) + 1
            name = text(frame.function)
            made.function.add(
                id=functions[key],
                name=name,
                system_name=name,
                filename=text(frame.path),
                start_line=frame.first_line,
            )
        return functions[key]

    def place(frame: StackFrame) -> int:
        if frame not in places:
            places[frame] = len(places) + 1
            line = pb2.Line(function_id=function(frame), line=frame.line)
            made.location.add(id=places[frame], line=[line])
        return places[frame]

    made.sample_type.extend(kind(one) for one in profile.kinds)
    for stack, values in profile.samples.items():
        made.sample.add(location_id=[place(frame) for frame in stack], value=values)
    if profile.period is not None:
        what, amount = profile.period
        made.period_type.CopyFrom(kind(what))
        made.period = amount
    made.string_table.extend(strings)
    return gzip.compress(made.SerializeToString(), mtime=0)
