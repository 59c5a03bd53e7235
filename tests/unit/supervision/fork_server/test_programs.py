"""What is prepared for a program before it is executed."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from supervision.fork_server.programs import KEPT_STACKS, accepts, prepare_stacks, restore_files


def test_the_stacks_of_the_last_processes_are_kept_and_other_files_stay(tmp_path: Path) -> None:
    directory = tmp_path / "stacks"
    file = f"{directory}/daemon.{{pid}}.stacks.log"
    prepare_stacks(file)
    for pid in range(20):
        path = directory / f"daemon.{1000 - pid}.stacks.log"
        path.write_text("goroutine 1")
        os.utime(path, (pid, pid))
    others = ["daemon.x.stacks.log", "daemon.7.stacks.log.old", "other.7.stacks.log"]
    for name in others:
        (directory / name).write_text("")
    prepare_stacks(file)
    newest = [f"daemon.{1000 - pid}.stacks.log" for pid in range(20 - KEPT_STACKS, 20)]
    assert sorted(os.listdir(directory)) == sorted([*newest, *others])


def _become_fifo(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.unlink(),
        lambda file: file.write_text("version = 7 ["),
        lambda file: file.write_bytes(b"\xff"),
        lambda file: (file.unlink(), file.mkdir(), (file / "inside").write_text("")),
        _become_fifo,
    ],
    ids=["removed", "rewritten", "not text", "a directory", "a FIFO"],
)
def test_a_damaged_file_of_a_program_is_made_whole_before_its_start(
    tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    file = tmp_path / "config.toml"
    restore_files({str(file): "version = 2\n"})
    damage(file)
    restore_files({str(file): "version = 2\n"})
    assert file.read_text() == "version = 2\n"


def test_a_whole_file_is_not_written(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("version = 2\n")
    before = file.stat()
    restore_files({str(file): "version = 2\n"})
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_program_is_not_in_service_while_its_socket_refuses_or_no_descriptor_is_free_to_try(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "socket")
    assert not accepts(path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        assert not accepts(path)
        listening.listen(1)
        assert accepts(path)

        def none_free(*_: object) -> None:
            raise OSError(errno.EMFILE, "Too many open files")

        monkeypatch.setattr(socket, "socket", none_free)
        assert not accepts(path)
