"""The file of the CPU manager is the kubelet's, both ways."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.container_manager.cpu.state import CpuState, StateError, decode, encode

CPUS = st.frozensets(st.integers(0, 300))
NAMES = st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1, max_size=12)
STATES = st.builds(
    CpuState,
    policy=st.sampled_from(["none", "static"]),
    shared=CPUS,
    entries=st.dictionaries(NAMES, st.dictionaries(NAMES, CPUS, min_size=1, max_size=3), max_size=3),
)
KUBELETS = [
    '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}',
    '{"policyName":"none","defaultCpuSet":"4-6","checksum":354655845}',
    '{"policyName":"none","defaultCpuSet":"1-3","entries":{"pod":{"container1":"4-6","container2":"1-3"}},'
    '"checksum":3610638499}',
    '{"policyName":"static","defaultCpuSet":"0,4-8,12-15","entries":{"088fe178-cec9-4eb9-ba3c-cf45cba46371":'
    '{"qos-demo-ctr":"1,9"},"681eca58-a216-4ec4-a57b-941cad3c4e0f":{"qos-demo-ctr":"2-3,10-11"}},'
    '"checksum":2993692383}',
]
"""Files of kubelets."""


@pytest.mark.parametrize("text", KUBELETS)
def test_a_file_of_a_kubelet_is_read_and_written_to_the_byte(text: str):
    assert encode(decode(text.encode())) == text.encode()


@given(STATES)
def test_encoded_data_is_decoded_unchanged(state: CpuState):
    assert decode(encode(state)) == state


@given(STATES, st.data())
def test_a_changed_file_is_refused(state: CpuState, data: st.DataObject):
    file = msgspec.json.decode(encode(state))
    wrong = {**file, "defaultCpuSet": data.draw(st.just("0-1023")), "checksum": file["checksum"] or 1}
    with pytest.raises(StateError, match=r"^checkpoint is corrupted$"):
        decode(msgspec.json.encode(wrong))


def test_a_checksum_of_zero_is_not_checked():
    assert decode(b'{"policyName":"static","defaultCpuSet":"0-3","checksum":0}').shared == frozenset({0, 1, 2, 3})


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"{",
        b"\xff",
        b'{"entries":{"id":"1"}}',
        b'{"checksum":"x"}',
        b"[" * 9999,
    ],
)
def test_invalid_data_is_refused(raw: bytes):
    with pytest.raises(StateError, match="checkpoint is corrupted: "):
        decode(raw)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ('"defaultCpuSet":"3-1"', 'could not parse default cpu set "3-1": must be CPU numbers'),
        (
            '"defaultCpuSet":"0","entries":{"u":{"c":"all"}}',
            'could not parse cpuset "all" for container "c" in pod "u": must be CPU numbers',
        ),
    ],
)
def test_an_invalid_set_is_refused_by_name(file: str, text: str):
    with pytest.raises(StateError) as error:
        decode(f'{{"policyName":"static",{file},"checksum":0}}'.encode())
    assert str(error.value).startswith(text)


@given(STATES, st.data())
def test_a_release_returns_the_taken_resources(state: CpuState, data: st.DataObject):
    uids = data.draw(st.just("new"))
    taken = data.draw(st.frozensets(st.sampled_from(sorted(state.shared)))) if state.shared else frozenset[int]()
    after = state.with_container(uids, "c", taken)
    assert not after.shared & taken
    assert after.without(uids) == state
