"""Files of the host that a running agent needs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from actors.agent import host_files
from actors.agent.doctor import disk_checks, host_checks
from actors.shared.config.start import start_records
from supervision.state_file import DamagedError


def said(directory: Path, **flags: str) -> list[str]:
    given = {name.replace("_", "-"): value for name, value in flags.items()}
    return [str(reason) for reason in host_files.problems(given, str(directory))]


def test_a_directory_of_static_pods_that_is_not_there_is_a_reason_until_it_is_made(tmp_path: Path) -> None:
    path = tmp_path / "manifests"
    assert said(tmp_path, pod_manifest_path=str(path)) == [f"staticPodPath: {path} is not there: no static pod runs"]
    path.mkdir()
    assert said(tmp_path, pod_manifest_path=str(path)) == []
    assert said(tmp_path, pod_manifest_path="", resolv_conf="") == []


def test_status_and_doctor_say_the_same_of_a_directory_of_static_pods(tmp_path: Path) -> None:
    path = tmp_path / "link"
    path.symlink_to(tmp_path / "gone")
    (found,) = host_checks.static_pods(str(path))
    assert said(tmp_path, pod_manifest_path=str(path)) == [found.text]
    assert f"it leads to {tmp_path}/gone" in found.text


def test_a_resolver_configuration_that_cannot_be_read_is_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "resolv.conf"
    assert said(tmp_path, resolv_conf=str(path)) == [
        f"resolvConf: {path} cannot be read: No such file or directory: no new pod starts"
    ]
    path.write_text("nameserver 192.0.2.1\n")
    assert said(tmp_path, resolv_conf=str(path)) == []
    assert said(tmp_path, resolv_conf=str(tmp_path)) == [
        f"resolvConf: {tmp_path} cannot be read: Is a directory: no new pod starts"
    ]


def test_status_and_doctor_say_the_same_of_a_root_directory_that_is_read_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert said(tmp_path) == []
    found = os.statvfs_result((4096, 4096, 100, 90, 90, 100, 90, 90, os.ST_RDONLY, 255))
    monkeypatch.setattr(os, "statvfs", lambda path: found)
    (reason,) = host_files.problems({}, str(tmp_path))
    (finding,) = disk_checks.disk(str(tmp_path))
    assert str(reason) == f"disk: {finding.text}: no pod starts, and nothing is recorded"
    assert reason.remedy == finding.remedy
    assert finding.text == f"{tmp_path} is mounted read-only"


def test_a_damaged_record_of_starts_is_a_reason_and_a_finding_and_stays_where_it_is(tmp_path: Path) -> None:
    assert said(tmp_path) == [], "there was no start"
    path = tmp_path / start_records.FILE
    path.write_text("{corrupt")
    path.chmod(0o600)
    (reason,) = said(tmp_path)
    assert reason.startswith(f"records: {path} is damaged: ")
    (running,) = host_checks.records(str(tmp_path), running=True)
    (stopped,) = host_checks.records(str(tmp_path), running=False)
    assert running.text.endswith("`supervise reset` does not know what to remove")
    assert (running.remedy, stopped.remedy) == (
        "restart the agent: pods keep running",
        "start the agent once, before `supervise reset`",
    )
    assert path.read_text() == "{corrupt"


def test_who_reads_damaged_records_of_starts_leaves_them_in_place(tmp_path: Path) -> None:
    file = tmp_path / start_records.FILE
    file.write_text("garbage")
    with pytest.raises(DamagedError, match="is damaged"):
        start_records.read_all(str(tmp_path))
    assert [one.name for one in tmp_path.iterdir()] == [start_records.FILE]
    assert file.read_text() == "garbage"
