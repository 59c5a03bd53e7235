import pickle
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.config.fields.duration import Duration, DurationError

RANGE = st.integers(-(1 << 63), (1 << 63) - 1)


@given(RANGE)
def test_a_printed_duration_is_parsed_to_the_same_nanosecond(nanoseconds):
    assert Duration.parse(str(Duration.of_nanoseconds(nanoseconds))).nanoseconds == nanoseconds


@given(st.text(alphabet="0123456789.+-hmsnuµ \n٣"))
def test_any_text_is_read_or_refused_by_its_own_error(text):
    with suppress(DurationError):
        assert abs(Duration.parse(text).nanoseconds) <= 1 << 63


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("0", "0s"),
        ("-0", "0s"),
        ("1m", "1m0s"),
        ("90m", "1h30m0s"),
        ("1.5h", "1h30m0s"),
        (".5s", "500ms"),
        ("1.s", "1s"),
        ("1h15m30.918273645s", "1h15m30.918273645s"),
        ("+5s", "5s"),
        ("-1m30.5s", "-1m30.5s"),
        ("3µs", "3µs"),
        ("3μs", "3µs"),
        ("0.3333333333333333333h", "20m0s"),
        ("9223372036854775807ns", "2562047h47m16.854775807s"),
        ("-9223372036854775808ns", "-2562047h47m16.854775808s"),
        ("9007199254740993ns", "2501h59m59.254740993s"),
        ("0.100000000000000000000h", "6m0s"),
    ],
)
def test_a_duration_is_read_and_printed_as_go_does(text, printed):
    assert str(Duration.parse(text)) == printed


@pytest.mark.parametrize(
    "text",
    ["", "5", "1d", "1 h", "1h ", " 1h", "1h-3m", "-", ".", ".s", "s", "1e3s", "1H", "+-5s", "3000000h",
     "9223372036854775808ns", "٣s", "0x10s", "1h\n", "1_000s", "9" * 400 + "s"],
)  # fmt: skip
def test_a_duration_that_go_refuses_is_refused(text):
    with pytest.raises(DurationError):
        Duration.parse(text)


def test_a_duration_is_seconds_to_timers_and_survives_pickling():
    assert Duration.parse("1m30s") == 90.0
    copied = pickle.loads(pickle.dumps(Duration.parse("1.000000001s")))
    assert (copied, copied.nanoseconds) == (Duration.parse("1.000000001s"), 1_000_000_001)
