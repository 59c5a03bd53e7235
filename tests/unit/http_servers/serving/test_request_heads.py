"""The end of a request's head."""

from __future__ import annotations

import re
import time

from hypothesis import given
from hypothesis import strategies as st

from actors.http_servers.serving.request_heads import END

TORNADO = re.compile(rb"\r?\n\r?\n")
"""The pattern of tornado's http1connection."""


def end_of(pattern: re.Pattern[bytes], head: bytes) -> int | None:
    found = pattern.search(head)
    return found.end() if found else None


@given(st.lists(st.sampled_from([b"\r", b"\n", b"a", b"\r\n", b"\n\n"]), max_size=12))
def test_the_end_is_where_tornado_finds_it(parts):
    assert end_of(re.compile(END), b"".join(parts)) == end_of(TORNADO, b"".join(parts))


def test_a_long_head_without_an_end_costs_little():
    def seconds(pattern: re.Pattern[bytes]) -> float:
        took = []
        for _ in range(5):
            started = time.process_time()
            pattern.search(head)
            took.append(time.process_time() - started)
        return min(took)

    head = b"x" * (1 << 20)
    assert seconds(re.compile(END)) < seconds(TORNADO) / 4
