"""What is kept of the resources of pods, over restarts and full disks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from actors.container_manager.messages import ActuatedContainer, ActuatedResources
from actors.container_manager.resizes.pod_resource_records import PodResourceRecords
from actors.shared import state_files
from actors.shared.kube.container import ResourceRequirements
from actors.shared.kube.pod import Pod
from actors.shared.pod_records import ACTUATED, ALLOCATED, read
from actors.shared.state_files import StateFiles


def pod(cpu: str) -> Pod:
    resources = {"requests": {"cpu": cpu}} if cpu else {}
    container = {"name": "a", "image": "i", "resources": resources}
    return msgspec.convert({"metadata": {"name": "p", "uid": "u"}, "spec": {"containers": [container]}}, Pod)


def given(cpu: str) -> ResourceRequirements:
    return ResourceRequirements(requests={"cpu": cpu})


def allocated(home: Path) -> dict[str, Any]:
    return {uid: one.containers["a"].requests["cpu"] for uid, one in read(home / ALLOCATED).items()}


def test_a_resize_is_under_way_until_all_of_it_is_actuated(tmp_path: Path) -> None:
    records = PodResourceRecords(StateFiles(str(tmp_path), f"{tmp_path}/run"))
    records.allocate("u", pod("1"))
    records.allocate("u", pod("2"), resized=True)
    records = PodResourceRecords(StateFiles(str(tmp_path), f"{tmp_path}/run"))
    records.allocate("u", pod("2"))
    assert read(tmp_path / ALLOCATED)["u"].ResizeUnderWay is True
    records.actuate(ActuatedResources("u", {"a": ActuatedContainer("id", given("1"))}))
    assert read(tmp_path / ALLOCATED)["u"].ResizeUnderWay is True
    records.actuate(ActuatedResources("u", {"a": ActuatedContainer("id", given("2"))}, complete=True))
    assert read(tmp_path / ALLOCATED)["u"].ResizeUnderWay is msgspec.UNSET
    assert allocated(tmp_path) == {"u": "2"}


def test_a_record_of_one_container_leaves_the_others(tmp_path: Path) -> None:
    records = PodResourceRecords(StateFiles(str(tmp_path), f"{tmp_path}/run"))
    records.actuate(ActuatedResources("u", {"a": ActuatedContainer("x", given("1"))}))
    records.actuate(ActuatedResources("u", {"b": ActuatedContainer("y", given("2"))}, given("3")))
    (record,) = PodResourceRecords(StateFiles(str(tmp_path), f"{tmp_path}/run"))._actuated.records.values()
    assert record.containers == {"a": given("1"), "b": given("2")}
    assert record.ContainerIDs == {"a": "x", "b": "y"}
    assert record.PodLevelResources == given("3")


def test_a_container_without_a_limit_is_recorded_with_the_limit_of_its_pod_as_by_the_kubelet(tmp_path: Path) -> None:
    records = PodResourceRecords(StateFiles(str(tmp_path), f"{tmp_path}/run"))
    whole = ResourceRequirements(limits={"cpu": "300m", "memory": "64Mi", "hugepages-2Mi": "2Mi"})
    own = ActuatedContainer("y", ResourceRequirements(limits={"cpu": "100m"}))
    records.actuate(ActuatedResources("u", {"a": ActuatedContainer("x", given("1")), "b": own}, whole))
    found = read(tmp_path / ACTUATED)["u"].containers
    assert found["a"] == ResourceRequirements(requests={"cpu": "1"}, limits={"cpu": "300m", "memory": "64Mi"})
    assert found["b"] == ResourceRequirements(limits={"cpu": "100m", "memory": "64Mi"})


def test_a_removed_pod_is_dropped_with_the_next_change(tmp_path: Path) -> None:
    records = PodResourceRecords(StateFiles(str(tmp_path), f"{tmp_path}/run"))
    records.allocate("u", pod("1"))
    records.forget("u")
    assert records.uids() == set()
    records.allocate("v", pod("2"))
    assert allocated(tmp_path) == {"v": "2"}


def test_an_unchanged_record_is_not_written(tmp_path: Path) -> None:
    records = PodResourceRecords(StateFiles(str(tmp_path), f"{tmp_path}/run"))
    order = ActuatedResources("u", {"a": ActuatedContainer("x", given("1"))})
    records.allocate("u", pod("1"))
    records.actuate(order)
    for name in (ALLOCATED, ACTUATED):
        (tmp_path / name).unlink()
    records.allocate("u", pod("1"))
    records.actuate(order)
    records.allocate("none", pod(""))
    assert list(tmp_path.iterdir()) == [tmp_path / "run"]


def test_a_full_disk_leaves_the_records_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = PodResourceRecords(StateFiles(str(tmp_path), f"{tmp_path}/run"))
    records.allocate("u", pod("1"))

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(state_files, "write_private", full)
        for uid in ("u", "new"):
            with pytest.raises(OSError, match="No space"):
                records.allocate(uid, pod("2"))
    assert records.uids() == {"u"}
    records.allocate("v", pod("3"))
    assert allocated(tmp_path) == {"u": "1", "v": "3"}
