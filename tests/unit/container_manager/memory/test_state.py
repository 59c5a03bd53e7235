"""The file of the memory manager is the kubelet's, both ways."""

from __future__ import annotations

import msgspec
import pytest

from actors.container_manager.cpu.state import StateError
from actors.container_manager.memory.state import decode, encode

KUBELETS = [
    '{"policyName":"None","machineState":{},"checksum":4236770233}',
    '{"policyName":"static","machineState":{"0":{"numberOfAssignments":0,"memoryMap":{"memory":{"total":2048,'
    '"systemReserved":512,"allocatable":1536,"reserved":512,"free":1024}},"cells":[]}},"entries":{"pod":{"container1":'
    '[{"numaAffinity":[0],"type":"memory","size":512}]}},"checksum":4215593881}',
]
"""Files of kubelets."""


@pytest.mark.parametrize("text", KUBELETS)
def test_a_file_of_a_kubelet_is_read_and_written_to_the_byte(text: str):
    assert encode(decode(text.encode())) == text.encode()


def test_a_changed_file_is_refused():
    with pytest.raises(StateError, match=r"^checkpoint is corrupted$"):
        decode(KUBELETS[1].replace("512}", "511}").encode())


@pytest.mark.parametrize("raw", [b"", b"[]", b'{"machineState":{"x":{}}}', b'{"entries":7}', b"\xff", b"[" * 9999])
def test_invalid_data_is_refused(raw: bytes):
    with pytest.raises(StateError, match="checkpoint is corrupted: "):
        decode(raw)


def test_a_checksum_of_zero_is_not_checked():
    file = msgspec.json.decode(KUBELETS[1])
    assert decode(msgspec.json.encode({**file, "checksum": 0})) == decode(KUBELETS[1].encode())
