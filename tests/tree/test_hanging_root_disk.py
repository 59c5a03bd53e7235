"""The disk of the root directory hangs: a start is refused, a stop ends, and the commands name the disk."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from actors.shared.config.paths import run_dir_of
from actors.shared.config.start import refused_starts
from actors.shared.linux import mount_calls
from supervision.fork_server.lock import Lock, holder_of
from tests.support.agent_command import HARMLESS, SOURCES, START, AgentCommand
from tests.support.dead_mounts import mount_dead
from tests.support.fork_server_process import ForkServerProcess, fork_server_running
from tests.support.hung_mount import hung_mount, is_possible
from tests.support.tcp_ports import free_port

pytestmark = [pytest.mark.tree, pytest.mark.skipif(not is_possible(), reason="needs root and /dev/fuse")]
COUNTED = """
import sys


def says(event, arguments):
    frame = sys._getframe() if event == "os.fork" else None
    while frame is not None and frame.f_globals["__name__"] != "supervision.hanging_disks":
        frame = frame.f_back
    if frame is not None:
        print("made: process that asks", file=sys.stderr, flush=True)


sys.addaudithook(says)
from actors.agent.command import main
sys.exit(main())
"""
LOCKED = "tests.support.tree_actors:locked_elsewhere"
SAID = "the disk does not answer"


def supervise(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "actors.agent.command", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=SOURCES, check=False)


def test_a_stop_ends_while_the_disk_of_the_lock_hangs(tmp_path: Path) -> None:
    with fork_server_running(LOCKED, tmp_path / "run") as agent, hung_mount(tmp_path / "state"):
        agent.process.send_signal(signal.SIGTERM)
        assert agent.wait_end() == 0


def test_a_start_on_a_disk_that_hangs_is_refused(tmp_path: Path) -> None:
    with hung_mount(tmp_path / "state"):
        agent = ForkServerProcess(LOCKED, tmp_path / "run")
        assert agent.wait_end() == 1
        assert SAID in agent.log.read_text()


def test_the_holder_of_a_lock_on_a_disk_that_hangs_is_not_waited_for(tmp_path: Path) -> None:
    lock = Lock(tmp_path / "state", makes=True)
    assert holder_of(tmp_path / "state") == os.getpid()
    with hung_mount(tmp_path / "state"), pytest.raises(TimeoutError, match=SAID):
        holder_of(tmp_path / "state")
    lock.release()
    assert not lock.path.exists()


@pytest.mark.parametrize("command", ["doctor", "incidents", "status"])
def test_commands_do_not_wait_for_the_disk(tmp_path: Path, command: str) -> None:
    with hung_mount(tmp_path / "root"):
        done = supervise(command, "--root-dir", str(tmp_path / "root"))
    assert done.returncode
    assert SAID in done.stdout + done.stderr or command == "status"


def test_the_doctor_names_a_disk_that_is_broken(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    mount_dead(str(tmp_path / "root"))
    try:
        done = supervise("doctor", "--root-dir", str(tmp_path / "root"))
    finally:
        mount_calls.umount(str(tmp_path / "root"), mount_calls.MNT_DETACH)
    assert f"FAIL  disk: {tmp_path}/root: Transport endpoint is not connected" in done.stdout


def test_the_agent_is_not_started_on_it(tmp_path: Path) -> None:
    with hung_mount(tmp_path / "root"):
        done = subprocess.run(
            [*START, f"--root-dir={tmp_path}/root"],
            capture_output=True,
            text=True,
            timeout=60,
            cwd=SOURCES,
            check=False,
        )
    refused_starts.forget(run_dir_of(f"{tmp_path}/root"))
    assert done.returncode == 1
    assert f"--root-dir: {tmp_path}/root: {SAID}" in done.stderr


def test_one_process_asks_the_disks_of_a_start(tmp_path: Path) -> None:
    root = tmp_path / "root"
    flags = [f"--root-dir={root}", f"--container-runtime-endpoint=unix://{root}/none.sock", f"--port={free_port()}"]
    with AgentCommand([sys.executable, "-c", COUNTED, "start", *HARMLESS, "--healthz-port=0", *flags], root) as agent:
        agent.wait_ready()
        assert agent.log.count("made: process that asks") == 1
