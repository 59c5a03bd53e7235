import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.linux.cpu_list import format_cpu_list, parse_cpu_list


@given(st.frozensets(st.integers(0, 200)))
def test_a_cpu_list_that_is_written_is_read_back(cpus):
    assert parse_cpu_list(format_cpu_list(cpus)) == cpus


def test_a_cpu_list_is_written_as_the_kernel_does():
    assert format_cpu_list(frozenset({0, 1, 2, 5, 7, 8})) == "0-2,5,7-8"


@pytest.mark.parametrize("text", ["a", "1-", "3-1", "1,,2", "-1", "1--2", "0-99999999", "٣"])
def test_a_wrong_cpu_list_is_refused(text):
    with pytest.raises(ValueError):
        parse_cpu_list(text)
