"""What is sent where: commands, and the two messages of gRPC health."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.prober.exec_probe import command_of
from actors.prober.grpc_probe import encoded, status_of, varint
from actors.shared.kube.container import Container, EnvVar, EnvVarSource


def test_commands_take_variables_from_the_manifest_only():
    environment = [EnvVar(name="A", value="1"), EnvVar(name="B", valueFrom=EnvVarSource())]
    container = Container(name="c", env=environment)
    command = ["$(A)", "$(B)", "$$(A)", "$(C) $(A)$", "$"]
    assert command_of(command, container) == ["1", "", "$(A)", "$(C) 1$", "$"]


def test_health_messages_are_coded_as_protocol_buffers_say():
    assert encoded("") == b""
    assert encoded("abc") == b"\x0a\x03abc"
    assert encoded("x" * 300) == b"\x0a\xac\x02" + b"x" * 300
    assert [status_of(each) for each in (b"", b"\x08\x01", b"\x08\x02", b"\x08", b"\x08" + b"\xff" * 20)] == [
        0,
        1,
        2,
        0,
        0,
    ]


@given(st.integers(0, 2**40))
def test_a_varint_is_decoded_to_its_value(number):
    assert status_of(b"\x08" + varint(number)) == number


@pytest.mark.parametrize(("number", "bytes_"), [(0, 1), (127, 1), (128, 2), (16383, 2), (16384, 3)])
def test_a_varint_has_a_byte_for_each_seven_bits(number, bytes_):
    assert len(varint(number)) == bytes_
