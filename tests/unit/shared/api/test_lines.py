"""Streams cut into lines, events and errors."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.api.errors import MOST_RETRY_AFTER, ApiError, error_of
from actors.shared.api.exchange import event_of
from actors.shared.api.lines import Lines, LineTooLong


@given(st.lists(st.binary(max_size=20).map(lambda each: each.replace(b"\n", b"").strip()), max_size=8), st.data())
def test_lines_are_the_same_for_any_chunking(lines: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(line + b"\n" for line in lines) + b"unfinished"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    found, reader = [], Lines()
    for begin, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += reader.feed(stream[begin:end])
    assert found == [line for line in lines if line]


@given(st.integers(1, 50), st.lists(st.integers(0, 30), min_size=1, max_size=6))
def test_the_buffered_line_is_bounded(limit: int, sizes: list[int]) -> None:
    reader, length = Lines(limit), 0
    for size in sizes:
        length += size
        if length > limit:
            with pytest.raises(LineTooLong):
                reader.feed(b"x" * size)
            return
        assert reader.feed(b"x" * size) == []


def test_a_line_larger_than_any_object_is_refused_before_it_fills_the_memory() -> None:
    reader = Lines()
    assert reader.feed(b"x" * (6 << 20)) == [], "a large object of which JSON escapes much"
    with pytest.raises(LineTooLong):
        reader.feed(b"x" * (4 << 20))


def test_a_long_line_among_others_is_refused() -> None:
    with pytest.raises(LineTooLong):
        Lines(4).feed(b"a\nbbbbb\nc")


@given(st.binary(max_size=40) | st.from_regex(rb'\{"type":"(ADDED|ERROR|X)","object":[^\n]{0,12}\}', fullmatch=True))
def test_a_line_is_an_event_or_an_error_of_ours(line: bytes) -> None:
    try:
        event = event_of(line)
    except ApiError:
        return
    assert json.loads(event.object.decode(errors="replace")) == json.loads(line.decode(errors="replace"))["object"]


@given(
    st.sampled_from(["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]),
    st.dictionaries(st.text(max_size=5), st.text(max_size=5) | st.integers(-(2**53), 2**53), max_size=3),
)
def test_the_object_of_an_event_is_what_was_sent(kind: str, sent: dict[str, Any]) -> None:
    event = event_of(json.dumps({"type": kind, "object": sent}).encode())
    assert (event.type, json.loads(event.object)) == (kind, sent)


@given(st.integers(100, 599), st.binary(max_size=40), st.dictionaries(st.just("retry-after"), st.text(max_size=5)))
def test_any_answer_is_an_error_with_its_status(status: int, body: bytes, headers: dict[str, str]) -> None:
    error = error_of(status, body, headers)
    assert error.status == status
    assert error.retry_after >= 0


@pytest.mark.parametrize("seconds", [999_999_999, 10**30, -5])
@pytest.mark.parametrize("place", ["header", "body"])
def test_a_retry_after_of_years_is_limited_to_a_minute(seconds: int, place: str) -> None:
    if place == "header":
        error = error_of(503, b"", {"retry-after": str(seconds)})
    else:
        error = error_of(503, json.dumps({"details": {"retryAfterSeconds": seconds}}).encode(), {})
    assert error.retry_after == (MOST_RETRY_AFTER if seconds > 0 else 0)


def test_a_reason_without_a_message_of_its_own_is_reported_once() -> None:
    assert str(ApiError(401, "Unauthorized", "Unauthorized")) == "Unauthorized"
    assert str(ApiError(500, "InternalError", "")) == "InternalError"
    assert str(ApiError(0, "NoCredentials", "NoCredentials: no file")) == "NoCredentials: no file"
    assert str(ApiError(403, "Forbidden", "no pods for you")) == "Forbidden: no pods for you"
