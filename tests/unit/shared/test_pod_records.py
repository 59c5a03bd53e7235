"""The files of allocated and actuated resources are the kubelet's, both ways."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.kube.codec import decode_pod
from actors.shared.kube.container import ResourceRequirements
from actors.shared.pod_records import (
    ALLOCATED,
    PodRecord,
    RecordError,
    RecordText,
    decode,
    encode,
    read,
    record_of,
)

KUBELETS = (
    r'{"data":"{\"entries\":{\"pod1\":{\"ContainerResources\":{\"container1\":{\"requests\":{\"cpu\":\"1Ki\",'
    r'\"memory\":\"1Ki\"}}}}}}","checksum":1178570812}'
)
"""Of a kubelet without resources of whole pods."""
AMOUNTS = st.dictionaries(
    st.sampled_from(["cpu", "memory", "hugepages-2Mi"]), st.sampled_from(["1", "100m", "64Mi", 2, 0.5]), max_size=2
)
RESOURCES = st.builds(ResourceRequirements, requests=AMOUNTS, limits=AMOUNTS)
NAMES = st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1, max_size=8)
RECORDS = st.builds(
    PodRecord,
    ContainerResources=st.dictionaries(NAMES, RESOURCES, max_size=3),
    PodLevelResources=st.none() | RESOURCES,
    ContainerIDs=st.just(msgspec.UNSET) | st.dictionaries(NAMES, st.text(max_size=4), max_size=2),
    ResizeUnderWay=st.sampled_from([msgspec.UNSET, True]),
)
FILES = st.dictionaries(NAMES, RECORDS, max_size=4)


def test_a_file_of_a_kubelet_is_read() -> None:
    (record,) = decode(KUBELETS.encode()).values()
    assert record.containers == {"container1": ResourceRequirements(requests={"cpu": "1Ki", "memory": "1Ki"})}
    assert record.PodLevelResources is msgspec.UNSET


def test_a_file_is_written_as_a_kubelet_writes_it() -> None:
    assert encode(decode(KUBELETS.encode())) == KUBELETS.encode()
    assert json.loads(encode({}))["data"] == "{}"


def test_a_pod_without_resources_of_its_own_has_none_in_the_file() -> None:
    pod = decode_pod(
        b'{"metadata":{"name":"p","uid":"u"},"spec":{"containers":[{"name":"a","image":"i",'
        b'"resources":{"limits":{"cpu":"1"}}},{"name":"b","image":"i"}]}}'
    )
    record = record_of(pod)
    assert record is not None
    data = json.loads(json.loads(encode({"u": record}))["data"])
    of_containers = {"a": {"limits": {"cpu": "1"}}, "b": {}}
    assert data == {"entries": {"u": {"ContainerResources": of_containers, "PodLevelResources": None}}}
    alone = msgspec.structs.replace(pod.spec, containers=pod.spec.containers[1:])
    assert record_of(msgspec.structs.replace(pod, spec=alone)) is None


@given(FILES)
def test_encoded_data_is_decoded_unchanged(records: dict[str, PodRecord]) -> None:
    assert decode(encode(records)) == records


@given(FILES, st.lists(st.tuples(NAMES, st.none() | RECORDS), max_size=8))
def test_a_text_that_is_changed_bit_by_bit_is_as_good_as_a_new_one(
    records: dict[str, PodRecord], changes: list[tuple[str, PodRecord | None]]
) -> None:
    text, now = RecordText(), dict[str, PodRecord]()
    for uid, record in [*records.items(), *changes]:
        now.pop(uid, None)
        if record is None:
            text.drop(uid)
        else:
            text.put(uid, record)
            now[uid] = record
        assert text.content() == encode(now)


@given(FILES, st.data())
def test_a_file_in_which_a_byte_of_the_data_differs_is_damaged(
    records: dict[str, PodRecord], data: st.DataObject
) -> None:
    file = json.loads(encode(records))
    place = data.draw(st.integers(0, len(file["data"]) - 1))
    other = data.draw(st.characters(codec="ascii").filter(lambda one: one != file["data"][place]))
    file["data"] = file["data"][:place] + other + file["data"][place + 1 :]
    with pytest.raises(RecordError, match="checkpoint is corrupted"):
        decode(json.dumps(file).encode())


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b"\xff", b'{"data":1,"checksum":1}', b'{"data":"","checksum":0}', b"[" * 100_000]
)
def test_a_damaged_file_is_reported_with_a_remedy(tmp_path: Path, raw: bytes) -> None:
    assert read(tmp_path / ALLOCATED) == {}
    (tmp_path / ALLOCATED).write_bytes(raw)
    with pytest.raises(RecordError) as error:
        read(tmp_path / ALLOCATED)
    assert str(error.value).startswith("could not restore state from checkpoint: checkpoint is corrupted")
    assert str(error.value).endswith(
        f', please drain this node and delete pod resource information checkpoint file "{tmp_path}/{ALLOCATED}" before '
        "restarting Kubelet"
    )
