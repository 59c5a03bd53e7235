"""What is prepared for a program before it is executed."""

from __future__ import annotations

import os
from pathlib import Path

from supervision.fork_server.programs import KEPT_STACKS, prepare_stacks


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
