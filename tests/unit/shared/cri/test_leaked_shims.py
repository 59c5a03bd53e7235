"""Which shims have leaked, on real processes that look like shims."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import psutil
import pytest

from actors.shared.cri import shims
from actors.shared.cri.leaked_shims import LEAST_AGE_SECONDS, age_without_call, leaked, sweep
from actors.shared.cri.shims import Shim, has_container, running

pytestmark = pytest.mark.slow

OLD = LEAST_AGE_SECONDS + 1
SLEEP = (
    "import subprocess, sys, time; subprocess.Popen([sys.argv[-1], '100']); print('up', flush=True); time.sleep(100)"
)


def test_a_shim_of_a_sandbox_or_container_that_the_runtime_lists_has_not_leaked():
    assert leaked([Shim(1, "a", OLD), Shim(2, "b", OLD)], ["a", "b", "c"], managed=True) == []


def test_a_shim_that_the_runtime_does_not_know_has_leaked_once_no_call_can_be_making_it():
    young, old = Shim(1, "a", LEAST_AGE_SECONDS - 1), Shim(2, "b", LEAST_AGE_SECONDS)
    assert leaked([young, old], ["c"], managed=True) == [old]


@pytest.mark.parametrize(
    ("runtime_age", "list_age", "least"),
    [
        (30.0, 5.0, 30.1),
        (30.0, 29.0, LEAST_AGE_SECONDS),
        (5.0, 30.0, LEAST_AGE_SECONDS),
        (0.0, 1.0, LEAST_AGE_SECONDS),
        (OLD, 1.0, LEAST_AGE_SECONDS),
    ],
)
def test_what_an_earlier_process_of_the_runtime_left_has_leaked_by_a_list_of_the_present_one(
    runtime_age: float, list_age: float, least: float
):
    assert age_without_call(runtime_age, list_age) == least


@pytest.mark.parametrize("names", [["nginx"], ["pause", "sh"], ["pause", "runcible"]])
def test_programs_of_containers_and_sandboxes_are_distinguished(names: list[str]):
    assert has_container(names)


@pytest.mark.parametrize("names", [[], ["pause"], ["runc:[2:INIT]"], ["runc", "pause"]])
def test_a_sandbox_alone_is_no_container(names: list[str]):
    assert not has_container(names)


@pytest.fixture
def child_program() -> str:
    return "pause"


@pytest.fixture
def shim(tmp_path: Path, child_program: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process with the command line of a shim, and a child of its own."""
    program, child = tmp_path / "containerd-shim-runc-v2", tmp_path / child_program
    program.symlink_to(sys.executable)
    shutil.copy("/bin/sleep", child)
    argv = [str(program), "-c", SLEEP, "-namespace", "k8s.io", "-id", "box", "-address", f"{tmp_path}/our.sock"]
    argv.append(str(child))
    bundle = tmp_path / "bundle"
    bundle.mkdir()
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, cwd=bundle)
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    children = psutil.Process(process.pid).children()
    yield process
    process.kill()
    process.wait()
    for each in children:
        with suppress(psutil.NoSuchProcess):
            each.kill()
    process.stdout.close()


def test_a_leaked_shim_is_ended_with_what_it_started(tmp_path: Path, shim: subprocess.Popen[bytes]):
    (child,) = psutil.Process(shim.pid).children()
    assert sweep(f"{tmp_path}/our.sock", ["other"], time.time() + OLD, managed=True, list_age=1.0) == (["box"], [], [])
    shim.wait(5)
    child.wait(5)


@contextmanager
def listening(path: Path) -> Iterator[None]:
    """A process, started now, that listens there as containerd does."""
    code = "import socket, sys, time; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); print('up', "
    argv = [sys.executable, "-c", f"{code}flush=True); time.sleep(100)", str(path)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        yield
    finally:
        process.kill()
        process.wait()
        path.unlink()


def test_a_shim_that_a_managed_runtime_left_when_it_ended_is_ended_soon(tmp_path: Path, shim: subprocess.Popen[bytes]):
    time.sleep(0.3)  # the shim is that much older
    with listening(tmp_path / "our.sock"):
        sweep_in_a_minute = partial(sweep, f"{tmp_path}/our.sock", now=time.time() + 60)
        assert sweep_in_a_minute(["other"], managed=False, list_age=1.0) == ([], [], [])
        assert sweep_in_a_minute(["other"], managed=True, list_age=90.0) == ([], [], []), (
            "a list of the earlier process"
        )
        assert sweep_in_a_minute(["box"], managed=True, list_age=1.0) == ([], [], [])
        assert sweep_in_a_minute(["other"], managed=True, list_age=1.0) == (["box"], [], [])
    shim.wait(5)


@pytest.mark.parametrize("child_program", ["nginx"])
def test_a_runtime_that_does_not_list_what_runs_is_given_the_longer_time(tmp_path: Path, shim: subprocess.Popen[bytes]):
    time.sleep(0.3)  # the shim is that much older
    with listening(tmp_path / "our.sock"):
        assert sweep(f"{tmp_path}/our.sock", [], time.time() + 60, managed=True, list_age=1.0) == ([], [], [])
    assert shim.poll() is None


@pytest.mark.parametrize("child_program", ["nginx"])
def test_a_shim_with_a_running_container_is_not_ended(tmp_path: Path, shim: subprocess.Popen[bytes]):
    (child,) = psutil.Process(shim.pid).children()
    assert sweep(f"{tmp_path}/our.sock", ["other"], time.time() + OLD, managed=True, list_age=1.0) == (
        [],
        ["box"],
        [],
    ), "it is named"
    assert shim.poll() is None
    child.kill()


@pytest.mark.parametrize("child_program", ["nginx"])
def test_a_stopped_shim_whose_container_was_killed_is_ended(tmp_path: Path, shim: subprocess.Popen[bytes]):
    shim.send_signal(signal.SIGSTOP)
    (child,) = psutil.Process(shim.pid).children()
    child.kill()
    deadline = time.monotonic() + 10
    while child.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline
    assert sweep(f"{tmp_path}/our.sock", ["other"], time.time() + OLD, managed=True, list_age=1.0) == (["box"], [], [])
    shim.wait(5)


@pytest.mark.parametrize("child_program", ["nginx"])
def test_a_shim_that_hangs_is_ended_by_name_with_its_containers(tmp_path: Path, shim: subprocess.Popen[bytes]):
    shim.send_signal(signal.SIGSTOP)
    (child,) = psutil.Process(shim.pid).children()
    assert shims.kill_hanging(f"{tmp_path}/other.sock", ["box"]) == []
    assert shims.kill_hanging(f"{tmp_path}/our.sock", ["another", "box"]) == ["box"]
    shim.wait(5)
    child.wait(5)


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: only root changes its root directory, as a container")
def test_a_program_of_a_container_with_the_command_line_of_a_shim_is_none(tmp_path: Path):
    """It would have the managed containerd restarted, for a container that it does not list."""
    program = tmp_path / "containerd-shim-runc-v2"
    program.symlink_to(sys.executable)
    code = "import os, sys, time; os.chroot(sys.argv[-1]); print('up', flush=True); time.sleep(100)"
    argv = [str(program), "-c", code, "-namespace", "k8s.io", "-id", "x", "-address", f"{tmp_path}/s", str(tmp_path)]
    with listening(tmp_path / "s"), subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"up\n"
            assert list(running(f"{tmp_path}/s", time.time())) == []
        finally:
            process.kill()


def test_the_shims_of_another_containerd_are_left_alone(tmp_path: Path, shim: subprocess.Popen[bytes]):
    assert list(running("/run/containerd/containerd.sock", time.time() + OLD)) == []
    assert sweep("/run/containerd/containerd.sock", [], time.time() + OLD, managed=True, list_age=1.0) == ([], [], [])
    assert shim.poll() is None


def test_shims_of_others_on_the_same_containerd_are_left_alone(tmp_path: Path):
    program = tmp_path / "containerd-shim-runc-v2"
    program.symlink_to(sys.executable)
    argv = [str(program), "-c", "import time; time.sleep(100)", "-namespace", "default", "-id", "x", "-address", "/s"]
    process = subprocess.Popen(argv)
    try:
        assert sweep("/s", [], time.time() + OLD, managed=True, list_age=1.0) == ([], [], [])
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def test_a_known_shim_is_not_ended(tmp_path: Path, shim: subprocess.Popen[bytes]):
    assert sweep(f"{tmp_path}/our.sock", ["box"], time.time() + OLD, managed=True, list_age=1.0) == ([], [], [])
    assert shim.poll() is None


def test_a_shim_of_an_external_runtime_is_ended_only_when_its_bundle_was_removed(
    tmp_path: Path, shim: subprocess.Popen[bytes]
):
    assert sweep(f"{tmp_path}/our.sock", ["other"], time.time() + OLD, managed=False, list_age=1.0) == ([], [], [])
    (tmp_path / "bundle").rmdir()
    assert sweep(f"{tmp_path}/our.sock", ["box"], time.time() + OLD, managed=False, list_age=1.0) == ([], [], [])
    assert sweep(f"{tmp_path}/our.sock", ["other"], time.time() + OLD, managed=False, list_age=1.0) == (["box"], [], [])
    shim.wait(5)


def test_addresses_go_with_their_sandboxes_and_stay_while_one_runs(tmp_path: Path, shim: subprocess.Popen[bytes]):
    network = tmp_path / "addresses" / "pods"
    network.mkdir(parents=True)
    (network / "lock").touch()
    for address, sandbox in {"10.0.0.2": "gone", "10.0.0.3": "listed", "10.0.0.4": "box"}.items():
        (network / address).write_text(f"{sandbox}\r\neth0")
    young = time.time() + LEAST_AGE_SECONDS - 60
    assert sweep(f"{tmp_path}/our.sock", ["listed"], young, managed=True, list_age=1.0) == ([], [], [])
    assert sweep(f"{tmp_path}/our.sock", ["listed", "box"], time.time() + OLD, managed=False, list_age=1.0) == (
        [],
        [],
        [],
    )
    assert sweep(f"{tmp_path}/our.sock", ["listed", "box"], time.time() + OLD, managed=True, list_age=1.0) == (
        [],
        [],
        ["10.0.0.2"],
    )
    assert sorted(file.name for file in network.iterdir()) == ["10.0.0.3", "10.0.0.4", "lock"]


@pytest.mark.parametrize("child_program", ["nginx"])
def test_the_address_of_a_pod_that_runs_unlisted_stays(tmp_path: Path, shim: subprocess.Popen[bytes]):
    network = tmp_path / "addresses" / "pods"
    network.mkdir(parents=True)
    (network / "lock").touch()
    (network / "10.0.0.4").write_text("box\r\neth0")
    assert sweep(f"{tmp_path}/our.sock", [], time.time() + OLD, managed=True, list_age=1.0) == ([], ["box"], [])
    assert (network / "10.0.0.4").exists()
