"""The file of a CPU manager before 1.18 is translated, with the containers of the runtime."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.container_manager.cpu.earlier_state import read_earlier, translate, translated, untranslated
from actors.container_manager.cpu.state import CPU_STATE, CpuState, StateError, decode
from actors.shared.cri.model import CriContainer
from actors.shared.fnv import fnv1a_32
from actors.shared.state_files import StateFiles
from tests.support.fake_cri import FakeRuntime, Fault

KUBELETS = (
    b'{"policyName":"none","defaultCpuSet":"1-3","entries":{"containerID1":"4-6","containerID2":"1-3"},'
    b'"checksum":3680390589}'
)
STATIC = (
    b'{"policyName":"static","defaultCpuSet":"7-9","entries":{"containerID1":"4-6","containerID2":"1-3"},'
    b'"checksum":2026311253}'
)
"""Files of kubelets."""
CONTAINERS = [CriContainer(id=f"containerID{one}", name=f"c{one}", pod_uid="pod") for one in (1, 2)]
LATER = b'{"policyName":"none","defaultCpuSet":"1-3","entries":{"pod":{"c":"4-6"}},"checksum":0}'


def test_ids_become_pods_and_names() -> None:
    file = read_earlier(STATIC)
    assert file is not None
    entries = {"pod": {"c1": frozenset({4, 5, 6}), "c2": frozenset({1, 2, 3})}}
    assert translated(file, CONTAINERS) == CpuState("static", frozenset({7, 8, 9}), entries)
    assert untranslated(file).exclusive() == frozenset(range(1, 7))
    with pytest.raises(StateError, match="containerID 'containerID2' not found in initial containers list"):
        translated(file, CONTAINERS[:1])


@pytest.mark.parametrize("raw", [LATER, b"", b"{", b'{"policyName":"none"}', KUBELETS.replace(b"4-6", b"4-7")])
def test_another_file_is_none_of_these(raw: bytes) -> None:
    assert read_earlier(raw) is None


async def test_a_file_of_that_version_without_entries_is_written_again_without_a_runtime(tmp_path: Path) -> None:
    path = tmp_path / CPU_STATE
    text = (
        "(*state.CPUManagerCheckpoint){PolicyName:(string)static DefaultCPUSet:(string)0-3 "
        "Entries:(map[string]string)map[] Checksum:(checksum.Checksum)0}"
    )
    path.write_bytes(b'{"policyName":"static","defaultCpuSet":"0-3","checksum":%d}' % fnv1a_32(text))
    await translate(StateFiles(str(tmp_path), f"{tmp_path}/run").file(CPU_STATE), FakeRuntime().client)
    assert decode(path.read_bytes()) == CpuState("static", frozenset(range(4)))


def test_the_checksum_is_that_of_kubelets_of_that_version() -> None:
    assert read_earlier(KUBELETS) is not None
    assert read_earlier(KUBELETS.replace(b"3680390589", b"0")) is not None


async def test_the_file_is_written_once_more_before_the_runtime_is_queried(tmp_path: Path) -> None:
    path, runtime = tmp_path / CPU_STATE, FakeRuntime()
    await translate(StateFiles(str(tmp_path), f"{tmp_path}/run").file(CPU_STATE), runtime.client)
    path.write_bytes(LATER)
    await translate(StateFiles(str(tmp_path), f"{tmp_path}/run").file(CPU_STATE), runtime.client)
    assert runtime.calls == []
    path.write_bytes(STATIC)
    with pytest.raises(StateError) as error:
        await translate(StateFiles(str(tmp_path), f"{tmp_path}/run").file(CPU_STATE), runtime.client)
    assert str(error.value) == (
        "could not restore state from checkpoint: containerID 'containerID1' not found in initial containers list, "
        f'please drain this node and delete the CPU manager checkpoint file "{path}" before restarting Kubelet'
    )
    assert path.read_bytes() == STATIC


async def test_a_starting_runtime_is_retried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, runtime = tmp_path / CPU_STATE, FakeRuntime()
    monkeypatch.setattr("actors.container_manager.cpu.earlier_state.PAUSE_SECONDS", 0.0)

    async def containers(self: object, *_: object) -> list[CriContainer]:
        return CONTAINERS

    runtime.faults.add("ListContainers", Fault(error="UNAVAILABLE", times=2))
    path.write_bytes(KUBELETS)
    with pytest.raises(StateError, match="not found"):
        await translate(StateFiles(str(tmp_path), f"{tmp_path}/run").file(CPU_STATE), runtime.client)
    assert len(runtime.requests_for("ListContainers")) == 3
    client = runtime.client()
    monkeypatch.setattr(type(client), "list_containers", containers)
    await translate(StateFiles(str(tmp_path), f"{tmp_path}/run").file(CPU_STATE), lambda: client)
    assert decode(path.read_bytes()).entries["pod"].keys() == {"c1", "c2"}
