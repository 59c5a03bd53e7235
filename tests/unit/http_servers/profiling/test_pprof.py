"""Profiles in pprof's form, read back as any reader does: places and names by their numbers."""

import gzip
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from actors.http_servers.profiling import pprof, stacks, text
from actors.http_servers.profiling.stacks import StackFrame, StackProfile, ValueKind
from proto import profile_pb2 as pb2

NAMES = st.text("abc.<>", max_size=4)
FRAMES = st.builds(StackFrame, NAMES, NAMES, st.integers(0, 3), st.integers(0, 3))
STACKS = st.lists(FRAMES, max_size=5).map(tuple)


def profile(samples: dict[tuple[StackFrame, ...], tuple[int, int]]) -> StackProfile:
    time = ValueKind("cpu", "nanoseconds")
    return StackProfile(
        kinds=(ValueKind("samples", "count"), time), samples=samples, period=(time, 10_000_000), seconds=2.0
    )


def decoded(data: bytes) -> pb2.Profile:
    return pb2.Profile.FromString(gzip.decompress(data))


def kinds(found: pb2.Profile) -> list[tuple[str, str]]:
    return [(found.string_table[one.type], found.string_table[one.unit]) for one in found.sample_type]


def read_back(found: pb2.Profile) -> Iterator[tuple[tuple[StackFrame, ...], tuple[int, ...]]]:
    functions = {one.id: one for one in found.function}
    locations = {one.id: one for one in found.location}
    for sample in found.sample:
        frames = []
        for number in sample.location_id:
            (line,) = locations[number].line
            function = functions[line.function_id]
            name, path = found.string_table[function.name], found.string_table[function.filename]
            frames.append(StackFrame(name, path, function.start_line, line.line))
        yield tuple(frames), tuple(sample.value)


@given(st.dictionaries(STACKS, st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=5))
def test_an_encoded_profile_is_decoded_unchanged(samples):
    found = decoded(pprof.encoded(profile(samples), 1000.5))
    assert dict(read_back(found)) == samples
    assert found.string_table[0] == "", "pprof asks for that"
    assert len(set(found.string_table)) == len(found.string_table)
    assert 0 not in {one.id for one in found.function} | {one.id for one in found.location}, "pprof asks for that"


def test_a_profile_has_its_start_duration_and_period():
    found = decoded(pprof.encoded(profile({}), 1000.5))
    assert (found.time_nanos, found.duration_nanos, found.period) == (1000_500_000_000, 2_000_000_000, 10_000_000)
    assert found.string_table[found.period_type.type] == "cpu"
    assert kinds(found) == [("samples", "count"), ("cpu", "nanoseconds")]


def test_objects_have_their_number_and_size():
    class Kept:
        pass

    kept = [Kept() for _ in range(100_000)]
    found = stacks.of_objects()
    (values,) = [values for (one,), values in found.samples.items() if one.function.endswith("Kept")]
    assert values[0] == len(kept)
    assert values[1] >= 16 * len(kept)
    assert [kind.unit for kind in found.kinds] == ["count", "bytes"]


def test_contention_profiles_are_empty():
    found = decoded(pprof.encoded(stacks.of_contention(), 1.0))
    assert kinds(found) == [("contentions", "count"), ("delay", "nanoseconds")]
    assert not found.sample


def test_threads_have_the_stack_that_they_run():
    found = stacks.of_threads()
    assert any(frame.function == "test_threads_have_the_stack_that_they_run" for one in found.samples for frame in one)


def test_lines_begin_with_the_outermost_frame():
    stack = (StackFrame("inner", "/x/b.py", 1, 2), StackFrame("outer", "/x/a.py", 1, 2))
    assert text.lines(profile({stack: (3, 30), (StackFrame("builtins.dict", ""),): (1, 2)})) == (
        "a.py:outer;b.py:inner 3\nbuiltins.dict 1\n"
    )
