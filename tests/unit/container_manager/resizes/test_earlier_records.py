"""The resources of pods from the files that earlier versions kept."""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec
import pytest

from actors.container_manager.resizes.earlier_records import EARLIER, take_over
from actors.shared.kube.container import ResourceRequirements
from actors.shared.pod_records import ALLOCATED, PodRecord, encode, read


def keep(home: Path, uid: str, cpu: str, *, at: int, **more: object) -> Path:
    file = home / "pods" / uid / EARLIER
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"allocated": {"a": {"requests": {"cpu": cpu}}, "": {"limits": {"cpu": "3"}}}, **more}))
    os.utime(file, (at, at))
    return file


def cpus(home: Path) -> dict[str, object]:
    return {uid: one.containers["a"].requests["cpu"] for uid, one in read(home / ALLOCATED).items()}


def test_files_of_an_earlier_version_are_taken_over_and_removed(tmp_path: Path) -> None:
    files = [keep(tmp_path, "u", "1", at=100), keep(tmp_path, "v", "2", at=100, under_way=True)]
    take_over(str(tmp_path))
    assert cpus(tmp_path) == {"u": "1", "v": "2"}
    found = read(tmp_path / ALLOCATED)
    assert found["u"].PodLevelResources == ResourceRequirements(limits={"cpu": "3"})
    assert [found[uid].ResizeUnderWay for uid in "uv"] == [msgspec.UNSET, True]
    assert not any(file.exists() for file in files)
    take_over(str(tmp_path))
    assert cpus(tmp_path) == {"u": "1", "v": "2"}


@pytest.mark.parametrize(("at", "cpu"), [(100, "5"), (300, "1")])
def test_the_later_of_two_files_counts(tmp_path: Path, at: int, cpu: str) -> None:
    """A kubelet ran after the earlier version, or before it."""
    keep(tmp_path, "u", "1", at=at)
    keep(tmp_path, "only-here", "2", at=100)
    record = PodRecord(ContainerResources={"a": ResourceRequirements(requests={"cpu": "5"})})
    (tmp_path / ALLOCATED).write_bytes(encode({"u": record}))
    os.utime(tmp_path / ALLOCATED, (200, 200))
    take_over(str(tmp_path))
    assert cpus(tmp_path) == {"u": cpu, "only-here": "2"}


def test_a_file_that_cannot_be_read_is_removed(tmp_path: Path) -> None:
    file = keep(tmp_path, "u", "1", at=100)
    file.write_text("{")
    take_over(str(tmp_path))
    assert not file.exists()
    assert read(tmp_path / ALLOCATED) == {}


def test_a_start_without_such_files_writes_nothing(tmp_path: Path) -> None:
    take_over(str(tmp_path))
    assert not (tmp_path / ALLOCATED).exists()
