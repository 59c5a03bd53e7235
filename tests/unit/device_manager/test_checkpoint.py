"""The kubelet's file of devices, in both directions."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.device_manager.checkpoint import (
    Checkpoint,
    Data,
    DeviceCheckpointError,
    checksum,
    data_of,
    encode,
    read,
)
from actors.device_manager.holdings import Key, Share
from tests.support.present import present

# Files that kubelets have written, as found in public reports.
REAL = {
    3660592824: '{"Data":{"PodDeviceEntries":[{"PodUID":"bf52b2cd-b611-4e79-86b1-280b283185c3","ContainerName":"check",'
    '"ResourceName":"nvidia.com/gpu","DeviceIDs":{"-1":["tegra"]},'
    '"AllocResp":"Ch8KFk5WSURJQV9WSVNJQkxFX0RFVklDRVMSBXRlZ3Jh"}],'
    '"RegisteredDevices":{"nvidia.com/gpu":["tegra"]}},"Checksum":3660592824}',
    2530956716: '{"Data":{"PodDeviceEntries":[{"PodUID":"9a15d2b5-c152-46b9-96e0-d57032629e1f","ContainerName":"app",'
    '"ResourceName":"nvidia.com/gpu","DeviceIDs":{"1":["GPU-9b341c59-f96b-ba85-c137-78c3652fea65",'
    '"GPU-c1e9f249-b37b-81c2-a8d9-ba5ca0294841"]},"AllocResp":"'
    "CmsKFk5WSURJQV9WSVNJQkxFX0RFVklDRVMSUUdQVS1jMWU5ZjI0OS1iMzdiLTgxYzItYThkOS1iYTVjYTAyOTQ4NDEsR1BVLTliMzQxYzU5LWY5"
    "NmItYmE4NS1jMTM3LTc4YzM2NTJmZWE2NRokCg4vZGV2L252aWRpYWN0bBIOL2Rldi9udmlkaWFjdGwaAnJ3GiYKDy9kZXYvbnZpZGlhLXV2bRIP"
    "L2Rldi9udmlkaWEtdXZtGgJydxoyChUvZGV2L252aWRpYS11dm0tdG9vbHMSFS9kZXYvbnZpZGlhLXV2bS10b29scxoCcncaLgoTL2Rldi9udmlk"
    "aWEtbW9kZXNldBITL2Rldi9udmlkaWEtbW9kZXNldBoCcncaIAoML2Rldi9udmlkaWExEgwvZGV2L252aWRpYTEaAnJ3GiAKDC9kZXYvbnZpZGlh"
    'MhIML2Rldi9udmlkaWEyGgJydw=="}],'
    '"RegisteredDevices":{"nvidia.com/gpu":["GPU-77a702db-e37f-3a74-d46d-c5713f66058c",'
    '"GPU-9b341c59-f96b-ba85-c137-78c3652fea65","GPU-c1e9f249-b37b-81c2-a8d9-ba5ca0294841"]}},"Checksum":2530956716}',
}


@pytest.mark.parametrize("number", REAL)
def test_a_file_that_a_kubelet_wrote_is_read_and_written_byte_for_byte(tmp_path: Path, number: int) -> None:
    path = tmp_path / "kubelet_internal_checkpoint"
    path.write_text(REAL[number])
    found = present(read(path))
    assert found.warning == ""
    registered = json.loads(REAL[number])["Data"]["RegisteredDevices"]
    assert encode(data_of(found.shares.items(), registered)).decode() == REAL[number]


def test_a_file_whose_checksum_is_wrong_is_used_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(REAL[3660592824].replace("3660592824", "1"))
    found = present(read(path))
    assert found.warning == f"the checksum of {path} is wrong; its data reads well and is used"
    assert [key.container for key in found.shares] == ["check"]


def test_no_file_is_no_checkpoint(tmp_path: Path) -> None:
    assert read(tmp_path / "none") is None


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{", '{"Data":{"PodDeviceEntries":[{"PodUID":"u"}]},"Checksum":1}', '{"Data":7,"Checksum":1}',
     REAL[3660592824].replace("Ch8K", "!!!!"), REAL[3660592824].replace('"-1"', '"one"')],
)  # fmt: skip
def test_a_damaged_file_is_refused_by_its_name(tmp_path: Path, content: str) -> None:
    path = tmp_path / "file"
    path.write_text(content)
    with pytest.raises(DeviceCheckpointError, match=f"{path} is damaged"):
        read(path)


def test_an_empty_node_is_written_as_go_writes_it() -> None:
    assert json.loads(encode(data_of([], {})))["Data"] == {"PodDeviceEntries": None, "RegisteredDevices": {}}
    assert checksum(Data(None, {})) != checksum(Data([], {}))


text = st.text(st.characters(codec="utf-8"), max_size=9)
shares = st.dictionaries(
    st.builds(Key, text, text, text),
    st.builds(Share, st.dictionaries(st.integers(-1, 9), st.lists(text, unique=True).map(sorted).map(tuple)),
              st.binary(max_size=9)),
)  # fmt: skip


@given(shares, st.dictionaries(text, st.lists(text, unique=True)))
def test_encoded_data_is_decoded_unchanged(tmp_path_factory, shares, registered) -> None:
    path = tmp_path_factory.mktemp("devices") / "file"
    path.write_bytes(encode(data_of(sorted(shares.items()), registered)))
    assert read(path) == Checkpoint(shares, sorted(registered))


@given(st.binary() | st.text().map(str.encode))
def test_any_file_is_read_or_refused(tmp_path_factory, content) -> None:
    path = tmp_path_factory.mktemp("devices") / "file"
    path.write_bytes(content)
    with suppress(DeviceCheckpointError):
        read(path)
