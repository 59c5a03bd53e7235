"""Rotation of container logs: within their limits, and no line lost whenever it is cut short."""

from __future__ import annotations

import asyncio
import gzip
import os
import shutil
import time
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.pod_workers.logs.rotation import (
    LogRotation,
    LogRotationPolicy,
    compress,
    limits_of,
    rotated_name,
    rotation_plan,
)
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import Unavailable
from actors.shared.cri.model import CriContainer, CriContainerState, PodRuntime
from actors.shared.linux.confined_paths import UnsafePathError

NOW = 1_780_000_000.0
OLD = [f"0.log.2026010{day}-000000" for day in range(1, 7)]


class Writer:
    """A runtime that keeps its log open until it is told to open it again."""

    def __init__(self, path: Path) -> None:
        self.path, self.fails = path, False
        self.file = path.open("a")
        self.written: list[str] = []

    def write(self, lines: int) -> None:
        for _ in range(lines):
            self.written.append(f"line {len(self.written)}\n")
            self.file.write(self.written[-1])
        self.file.flush()

    async def reopen_container_log(self, container_id: str) -> None:
        if self.fails:
            raise Unavailable("ReopenContainerLog", "UNAVAILABLE", "away")
        self.file.close()
        self.file = self.path.open("a")


class Logs:
    """One container's, below `home`."""

    def __init__(self, home: Path, files: int = 3, size: int = 50) -> None:
        self.home, self.path = home, home / "0.log"
        self.writer = Writer(self.path)
        self.now = NOW
        limits = LogRotationPolicy(size_bytes=size, files=files)
        runtime: Any = self.writer
        self.rotation = LogRotation(runtime, str(home), limits, self.compress)
        state = CriContainerState.RUNNING
        self.ran = CriContainer(id="c", name="c", pod_uid="u", state=state, log_path=str(self.path))

    def move_to(self, path: Path) -> None:
        path.parent.mkdir(parents=True)
        self.path, self.writer = path, Writer(path)
        self.rotation._client = cast(CriClient, self.writer)
        self.ran = msgspec.structs.replace(self.ran, log_path=str(path))

    async def compress(self, path: str) -> None:
        compress(str(self.home), path)

    def round(self) -> list[str]:
        self.now += 1
        return asyncio.run(self.rotation.round([PodRuntime(uid="u", containers=[self.ran])], self.now))

    def names(self) -> list[str]:
        return sorted(os.listdir(self.path.parent))

    def content(self) -> list[str]:
        """All lines that are left, oldest first."""
        rotated = [name for name in self.names() if name != "0.log"]
        whole = ""
        for name in [*rotated, "0.log"]:
            path = self.path.parent / name
            data = path.read_bytes()
            whole += (gzip.decompress(data) if name.endswith(".gz") else data).decode()
        return whole.splitlines(keepends=True)


def test_a_small_log_is_not_rotated(tmp_path):
    logs = Logs(tmp_path)
    logs.writer.write(3)
    assert logs.round() == []
    assert logs.names() == ["0.log"]


@pytest.mark.parametrize(("size", "files"), [(21, 2), (22, 1)])
def test_a_log_that_has_reached_its_size_is_rotated(tmp_path, size, files):
    logs = Logs(tmp_path, size=size)
    logs.writer.write(3)
    assert logs.round() == []
    assert len(logs.names()) == files


def test_a_rotated_log_is_named_by_the_local_time_as_by_the_kubelet(monkeypatch):
    monkeypatch.setenv("TZ", "XYZ-5")
    time.tzset()
    try:
        assert rotated_name("/0.log", 86_400.0) == "/0.log.19700102-050000"
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_big_log_is_rotated_and_older_ones_compressed_and_in_the_end_removed(tmp_path):
    logs = Logs(tmp_path, files=4)
    for _ in range(3):
        logs.writer.write(20)
        assert logs.round() == []
    names = logs.names()
    assert [name[-3:] for name in names] == ["log", ".gz", ".gz", names[3][-3:]]
    assert not names[3].endswith(".gz"), "the runtime may still write to the newest"
    assert logs.content() == logs.writer.written
    logs.writer.write(20)
    logs.round()
    assert len(logs.names()) == 4
    assert logs.content() == logs.writer.written[20:]


def test_a_runtime_that_does_not_reopen_keeps_its_log(tmp_path):
    logs = Logs(tmp_path)
    logs.writer.write(20)
    logs.writer.fails = True
    (problem,) = logs.round()
    assert "is not rotated" in problem
    assert logs.names() == ["0.log"]
    logs.writer.fails = False
    assert logs.round() == []
    assert logs.content() == logs.writer.written


def test_a_rotation_that_was_cut_short_is_finished(tmp_path):
    logs = Logs(tmp_path)
    logs.writer.write(20)
    os.rename(logs.path, f"{logs.path}.20260101-000000")  # and then the shard died
    logs.writer.write(5)
    assert logs.round() == []
    logs.writer.write(5)
    assert logs.content() == logs.writer.written
    assert logs.names() == ["0.log", "0.log.20260101-000000"]


def test_a_compression_that_was_cut_short_leaves_nothing_behind(tmp_path):
    logs = Logs(tmp_path, files=9)
    for name in (f"{OLD[0]}.tmp", f"{OLD[1]}.gz", OLD[1]):
        (tmp_path / name).write_text("")
    logs.writer.write(20)
    logs.round()
    assert logs.names() == ["0.log", f"{OLD[1]}.gz", os.path.basename(rotated_name("0.log", logs.now))]


def test_logs_of_another_directory_and_links_are_not_touched(tmp_path):
    (tmp_path / "logs").mkdir()
    logs = Logs(tmp_path / "logs")
    big = tmp_path / "big"
    big.write_text("x" * 100)
    logs.path.unlink()
    logs.path.symlink_to(big)
    assert logs.round() == []
    assert logs.path.is_symlink()
    logs.ran = CriContainer(id="c", name="c", pod_uid="u", state=CriContainerState.RUNNING, log_path=str(big))
    assert logs.round() == []
    assert big.read_text() == "x" * 100


def test_a_link_in_place_of_the_directory_of_a_log_touches_nothing_there(tmp_path):
    others, home = tmp_path / "others", tmp_path / "logs" / "pod"
    others.mkdir()
    home.mkdir(parents=True)
    logs = Logs(others, files=2)
    runtime: Any = logs.writer
    limits = LogRotationPolicy(size_bytes=50, files=2)
    logs.rotation = LogRotation(runtime, str(tmp_path / "logs"), limits, logs.compress)
    (others / OLD[0]).write_text("keep me")
    (home / "c").symlink_to(others)
    logs.ran = CriContainer(id="c", name="c", pod_uid="u", state=CriContainerState.RUNNING, log_path=f"{home}/c/0.log")
    logs.writer.write(20)
    assert logs.round() == []
    assert sorted(os.listdir(others)) == ["0.log", OLD[0]]
    with pytest.raises(UnsafePathError):
        compress(str(tmp_path / "logs"), f"pod/c/{OLD[0]}")
    assert sorted(os.listdir(others)) == ["0.log", OLD[0]]


@pytest.mark.parametrize("place", ["pod", "pod/c"])
def test_a_link_made_while_a_log_is_rotated_has_no_file_of_others_compressed(tmp_path, place):
    home, others = tmp_path / "logs", tmp_path / "others"
    for directory in (home / "pod" / "c", others / "c"):
        directory.mkdir(parents=True)
    for directory in (others, others / "c"):
        for old in OLD[:2]:
            (directory / old).write_text("keep me")
    logs = Logs(home / "pod" / "c", files=9)
    logs.home = home
    for old in OLD[:2]:
        (logs.path.parent / old).write_text("old")
    logs.writer.write(20)

    async def put_link_first(path: str) -> None:
        if not (home / place).is_symlink():
            (home / place).rename(tmp_path / "moved")
            (home / place).symlink_to(others)
        with pytest.raises(UnsafePathError):
            compress(str(home), path)

    runtime: Any = logs.writer
    limits = LogRotationPolicy(size_bytes=50, files=9)
    logs.rotation = LogRotation(runtime, str(home), limits, put_link_first)
    assert logs.round() == []
    assert (home / place).is_symlink()
    assert [sorted(os.listdir(directory)) for directory in (others, others / "c")] == [[*OLD[:2], "c"], OLD[:2]]


@pytest.mark.parametrize("plant", [os.mkfifo, lambda path: os.link(path.parent / "precious", path)])
def test_a_file_in_the_place_of_the_compressed_one_is_not_written_to(tmp_path, plant):
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "x").write_text("line\n")
    plant(tmp_path / "x.tmp")
    with pytest.raises(FileExistsError):
        compress(str(tmp_path), "x")
    assert (tmp_path / "precious").read_text() == "precious"


def test_a_negative_size_switches_it_off(tmp_path):
    logs = Logs(tmp_path, size=-1)
    logs.writer.write(100)
    assert logs.round() == []
    assert logs.names() == ["0.log"]


def test_a_compressed_log_has_the_same_lines_and_the_same_mode(tmp_path):
    (tmp_path / "x").write_bytes(b"line\n" * 10_000)
    (tmp_path / "x").chmod(0o604)
    compress(str(tmp_path), "x")
    assert os.listdir(tmp_path) == ["x.gz"]
    assert (tmp_path / "x.gz").stat().st_mode & 0o777 == 0o604
    assert gzip.decompress((tmp_path / "x.gz").read_bytes()) == b"line\n" * 10_000


def test_a_link_is_not_compressed(tmp_path):
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "x").symlink_to(tmp_path / "secret")
    with pytest.raises(OSError, match="symbolic"):
        compress(str(tmp_path), "x")


@given(
    st.lists(st.sampled_from([*OLD, *(f"{name}.gz" for name in OLD), "1.log.20260101-000000", "0.log"])),
    st.integers(2, 6),
)
def test_the_newest_rotated_logs_stay_and_other_files_are_untouched(names, files):
    names = sorted(set(names))
    todo = rotation_plan("0.log", names, files)
    left = [name for name in names if name not in todo.remove]
    times = {name[6:21] for name in names if name.startswith("0.log.")}
    assert {name[6:21] for name in left if name.startswith("0.log.")} == set(sorted(times)[-(files - 1) :])
    assert {"0.log", "1.log.20260101-000000"} & set(names) <= set(left)
    assert not set(todo.compress) & set(todo.remove)
    assert all(name in left and not name.endswith(".gz") for name in todo.compress)


def test_the_limits_are_those_of_the_configuration():
    assert limits_of(KubeletConfiguration()) == LogRotationPolicy(size_bytes=10 << 20, files=5, at_once=1)


def test_a_pipe_in_place_of_a_rotated_log_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "x")
    with pytest.raises(OSError, match="is no regular file"):
        compress(str(tmp_path), "x")
    assert os.listdir(tmp_path) == ["x"]


def test_a_directory_of_logs_that_was_removed_is_made_again(tmp_path):
    logs = Logs(tmp_path)
    logs.move_to(tmp_path / "pod/c/0.log")
    logs.writer.write(3)
    shutil.rmtree(tmp_path / "pod")
    assert logs.round() == []
    logs.writer.write(2)
    assert logs.names() == ["0.log"]
    assert logs.content() == logs.writer.written[3:]
