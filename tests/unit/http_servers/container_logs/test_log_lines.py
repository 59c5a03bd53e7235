"""CRI log lines and what of them a client is sent."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.http_servers.container_logs.lines import LineFilter, timestamp_ns
from actors.http_servers.container_logs.query import LogQuery, QueryError, parse_query

T0, T1, T2 = "2026-11-21T04:00:00.000000001Z", "2026-11-21T04:00:01.5Z", "2026-11-21T05:00:02+01:00"
LOG = [
    f"{T0} stdout F one",
    f"{T1} stderr P tw",
    f"{T1} stderr F o",
    "not a log line",
    "x stdout F also kept: only a time filter reads the time",
    f"{T2} stdout F ",
]


def sent(**query: Any) -> str:
    line_filter = LineFilter(LogQuery(**query))
    return b"".join(line_filter.feed(line.encode()) for line in LOG).decode()


def test_parts_are_joined_and_the_text_is_sent_as_it_was():
    assert sent() == "one\ntwo\nalso kept: only a time filter reads the time\n\n"


def test_timestamps_stand_before_each_whole_line():
    assert sent(timestamps=True).splitlines()[:2] == [f"{T0} one", "2026-11-21T04:00:01.500000000Z two"]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("2026-11-21T04:00:01Z", "2026-11-21T04:00:01.000000000Z"),
        ("2026-11-21T04:00:01.12+02:00", "2026-11-21T04:00:01.120000000+02:00"),
        ("2026-11-21T04:00:01.123456789123Z", "2026-11-21T04:00:01.123456789Z"),
        ("2026-11-21T04:00:01.5+00:00", "2026-11-21T04:00:01.500000000Z"),
    ],
)
def test_each_timestamp_has_nine_digits_as_a_kubelet_writes_it(written, shown):
    line_filter = LineFilter(LogQuery(timestamps=True))
    assert line_filter.feed(f"{written} stdout F text".encode()) == f"{shown} text\n".encode()


def test_a_line_without_a_time_is_omitted_if_times_are_requested():
    assert LineFilter(LogQuery(timestamps=True)).feed(b"x stdout F text") == b""


def test_one_stream_can_be_chosen():
    assert sent(stream="Stderr") == "two\n"


def test_lines_before_since_are_left_out():
    assert sent(since_ns=timestamp_ns(T1.encode())) == "two\n\n"


@pytest.mark.parametrize("limit", range(1, 12))
def test_the_limit_of_bytes_cuts_exactly(limit):
    assert sent(limit_bytes=limit) == sent()[:limit]


@given(st.datetimes(datetime.datetime(1971, 1, 1), datetime.datetime(2200, 1, 1)), st.integers(0, 999_999_999))
def test_a_time_is_read_to_the_nanosecond(moment, nanoseconds):
    moment = moment.replace(microsecond=0, tzinfo=datetime.UTC)
    text = moment.strftime("%Y-%m-%dT%H:%M:%S") + f".{nanoseconds:09d}Z"
    assert timestamp_ns(text.encode()) == int(moment.timestamp()) * 10**9 + nanoseconds


@given(st.binary(max_size=200))
def test_any_line_is_taken_without_an_error(line):
    LineFilter(LogQuery(since_ns=5)).feed(line)


def test_every_wrong_parameter_is_named_at_once():
    values = {"tailLines": "-1", "limitBytes": "0", "sinceTime": "noon", "stream": "both"}
    with pytest.raises(QueryError) as caught:
        parse_query(values, 1e9)
    assert all(name in str(caught.value) for name in values)


@pytest.mark.parametrize(
    ("text", "found"), [("true", True), ("1", True), ("", True), ("maybe", True), ("0", False), ("False", False)]
)
def test_only_0_and_false_are_false(text, found):
    assert parse_query({"follow": text, "previous": text, "timestamps": text}, 0.0) == LogQuery(
        follow=found, previous=found, timestamps=found
    )
    assert not parse_query({}, 0.0).follow


def test_since_seconds_is_counted_from_now():
    assert parse_query({"sinceSeconds": "10"}, 1e9).since_ns == (10**9 - 10) * 10**9


@pytest.mark.parametrize("zone", ["Z", "+00:00"])
def test_since_time_is_a_moment(zone):
    assert parse_query({"sinceTime": f"1970-01-01T00:00:07.5{zone}"}, 0.0).since_ns == 7_500_000_000
    assert parse_query({"sinceTime": "1969-12-31T23:00:00Z"}, 0.0).since_ns == 0


def test_since_time_without_a_time_zone_is_refused():
    with pytest.raises(QueryError, match=r"sinceTime: Invalid value.*must be an RFC 3339 time"):
        parse_query({"sinceTime": "2026-11-21T08:00:00"}, 0.0)


def test_both_kinds_of_since_are_refused():
    with pytest.raises(QueryError, match="at most one"):
        parse_query({"sinceSeconds": "10", "sinceTime": T0}, 1e9)


@pytest.mark.parametrize(
    ("text", "number"), [("+1", 1), ("007", 7), ("9223372036854775807", (1 << 63) - 1), ("0" * 30, 0)]
)
def test_a_number_is_read_as_by_the_api(text, number):
    assert parse_query({"tailLines": text}, 0.0).tail_lines == number


@pytest.mark.parametrize("text", ["9223372036854775808", "--5", "-", "²", "1" * 30, "5-", " 5"])
def test_an_invalid_number_is_refused_by_name(text):
    with pytest.raises(QueryError, match="tailLines: Invalid value"):
        parse_query({"tailLines": text}, 0.0)
