"""The fields of a message."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.kube.protobuf.wire import Budget, Malformed, fields, numbers
from proto import k8s_pod_pb2 as core


def read(data: bytes, values: int = 100) -> list[tuple[int, int | bytes]]:
    return list(fields(data, Budget(values)))


@given(st.text(), st.integers(-(2**63), 2**63 - 1), st.integers(-(2**31), 2**31 - 1), st.booleans())
def test_what_the_library_writes_is_read(name: str, grace: int, priority: int, host: bool) -> None:
    spec = core.PodSpec(
        nodeName=name, terminationGracePeriodSeconds=grace, priority=priority, hostNetwork=host, hostname="h"
    )
    found = dict(read(spec.SerializeToString()))
    assert found.get(10, b"") == name.encode()
    assert (found[4], found[25]) == (grace % 2**64, priority % 2**64)
    assert (found.get(11, 0), found[16]) == (host, b"h")


def test_fields_with_a_fixed_size_are_passed_over() -> None:
    assert read(b"\x0d1234" + b"\x1187654321" + b"\x18\x05") == [(3, 5)]


@pytest.mark.parametrize(
    "data",
    [
        b"\x0a", b"\x0a\x05abc", b"\x08", b"\x08\x80", b"\x80", b"\x0b", b"\x0c", b"\x0f",
        b"\x08" + b"\xff" * 10 + b"\x01", b"\x80" * 5000,
    ],
)  # fmt: skip
def test_other_bytes_are_malformed(data: bytes) -> None:
    with pytest.raises(Malformed):
        read(data)


def test_more_fields_than_the_budget_are_malformed() -> None:
    assert len(read(b"\x0a\x00" * 7, values=7)) == 7
    with pytest.raises(Malformed, match="more values"):
        read(b"\x0a\x00" * 8, values=7)


def test_packed_numbers_are_of_the_budget_too() -> None:
    assert list(numbers(b"\x01\x02\xac\x02", Budget(3))) == [1, 2, 300]
    assert list(numbers(7, Budget(0))) == [7]
    for data, values in ((b"\x01\x02", 1), (b"\x80", 5)):
        with pytest.raises(Malformed):
            list(numbers(data, Budget(values)))


@given(st.binary())
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    try:
        assert all(isinstance(value, int | bytes) for _, value in read(data))
    except Malformed:
        pass
