"""What `make run` runs, for real: a pod on containers, faults while it speaks, and nothing left at the end."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from actors.agent.demo.layout import POD, DemoLayout
from actors.container_runtime import cleanup
from actors.container_runtime.errors import MissingPrograms
from actors.container_runtime.host import look
from actors.container_runtime.instance import ManagedRuntime
from actors.container_runtime.processes import commands
from actors.shared.config.paths import run_dir_of, state_dir_of
from proto import podresources_pb2 as api
from proto import podresources_pb2_grpc as stubs
from tests.support.remains import links_into, take_away
from tests.support.waiting import wait_for

pytestmark = [pytest.mark.node, pytest.mark.timeout(240)]
ROOT = Path(__file__).parents[4]
DEADLINE_SECONDS = 90.0


class Demo:
    """`supervise demo` in a process of its own."""

    def __init__(self, root: Path, *words: str) -> None:
        self.out = root.parent / "out"
        self.root = root
        with self.out.open("wb") as out:
            command = [sys.executable, "-m", "actors.agent.command", "demo", f"--root-dir={root}", *words]
            self.process = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=out)

    def text(self) -> str:
        return self.out.read_text()

    def lines(self) -> list[int]:
        """Numbers of the lines that the pod has said."""
        return [int(number) for number in re.findall(rf"{POD} \| hello from .*, line (\d+)", self.text())]

    def wait_for_lines(self, count: int) -> None:
        end = time.monotonic() + DEADLINE_SECONDS
        while len(self.lines()) < count:
            assert self.process.poll() is None, self.text()
            assert time.monotonic() < end, self.text()
            time.sleep(0.1)

    def supervise(self, *words: str) -> str:
        command = [sys.executable, "-m", "actors.agent.command", *words, f"--root-dir={self.root}"]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=30).stdout

    def end(self, number: signal.Signals = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return self.process.wait(DEADLINE_SECONDS)


def traces(root: Path) -> dict[str, list[str]]:
    """What a demo in this directory has on the host, by kind; nothing should be left of it."""
    instance = ManagedRuntime(root=f"{state_dir_of(str(root))}/containerd", state=f"{run_dir_of(str(root))}-containerd")
    mounts = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(root) in line]
    links = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True, timeout=10).stdout
    rules = subprocess.run(["iptables-save"], capture_output=True, text=True, check=False, timeout=10).stdout
    cgroup = DemoLayout(str(root)).cgroup.lstrip("/")
    found = {
        "directories": [path for path in (str(root), instance.state, run_dir_of(str(root))) if os.path.exists(path)],
        "processes": [" ".join(argv) for _, argv in commands() if any(str(root) in word for word in argv)],
        "shims": [" ".join(argv) for _, argv in commands() if instance.socket in argv],
        "mounts": mounts,
        "bridge": [line for line in links.splitlines() if instance.network in line],
        "rules": [line for line in rules.splitlines() if instance.network in line],
        "cgroups": [top for top, _, _ in os.walk("/sys/fs/cgroup") if top.endswith(f"/{cgroup}")],
        "links": [str(path) for path in links_into(root)],
    }
    return {kind: values for kind, values in found.items() if values}


def pods_with_resources(root: Path) -> dict[str, list[str]]:
    """Containers of each pod, as a monitor of the node is told; none while nobody tells it."""
    with grpc.insecure_channel(f"unix://{root}/pod-resources/kubelet.sock") as channel:
        try:
            answer = stubs.PodResourcesListerStub(channel).List(api.ListPodResourcesRequest(), timeout=10)
        except grpc.RpcError:
            return {}
    return {pod.name: [container.name for container in pod.containers] for pod in answer.pod_resources}


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("NOT TESTED: real containers need root")
    try:
        look(str(tmp_path))
    except MissingPrograms as error:
        pytest.skip(f"NOT TESTED: {error}")
    root = tmp_path / "demo"
    yield root
    for pid, argv in commands():  # only where a test failed
        if f"--root-dir={root}" in argv:
            os.kill(pid, signal.SIGKILL)
    directory = DemoLayout(str(root))
    cleanup.purge(
        ManagedRuntime(root=f"{state_dir_of(str(root))}/containerd", state=f"{run_dir_of(str(root))}-containerd"),
        (f"{directory.cgroup}/kubepods", directory.cgroup),
    )
    take_away(root)


def test_a_pod_speaks_the_tree_is_shown_and_nothing_is_left(root: Path) -> None:
    demo = Demo(root, "--once")
    assert demo.process.wait(DEADLINE_SECONDS) == 0, demo.text()
    text = demo.text()
    assert re.search(rf"pod {POD} is Running after \d+\.\d s", text)
    assert re.search(r"pleg +\d+ +running", text)
    assert demo.lines()
    assert text.endswith("nothing is left\n")
    assert traces(root) == {}


def test_the_pod_survives_faults_and_ctrl_c_removes_everything(root: Path) -> None:
    demo = Demo(root)
    demo.wait_for_lines(1)
    for actor in ("pleg", "pod_workers/worker/0", "pod_workers/worker/1", "container_runtime", "root"):
        demo.supervise("inject", actor, "crash")
    demo.wait_for_lines(len(demo.lines()) + 3)
    # A containerd that is killed between reading lines and writing them loses those: a gap is no new start.
    said = demo.lines()
    assert said == sorted(set(said)), "the container was not restarted"
    assert [log.name for log in Path(DemoLayout(str(root)).pod_logs).glob("*/*/*.log")] == ["0.log"]
    assert "pleg" in demo.supervise("incidents")
    # all was replaced a moment ago: it tells of the pod again once its worker has
    wait_for(lambda: pods_with_resources(root) == {POD: ["hello"]}, DEADLINE_SECONDS)
    assert demo.end() == 0, demo.text()
    assert demo.text().endswith("nothing is left\n")
    assert traces(root) == {}


def test_the_next_demo_removes_the_remains_of_a_killed_one(root: Path) -> None:
    first = Demo(root)
    first.wait_for_lines(1)
    fork_server = json.loads(first.supervise("tree", "-o", "json"))["pid"]
    first.end(signal.SIGKILL)
    second = Demo(root, "--once")
    assert second.process.wait(DEADLINE_SECONDS) == 1
    assert f"an agent runs in {root} already" in second.text()
    os.kill(fork_server, signal.SIGKILL)
    third = Demo(root, "--once")
    assert third.process.wait(DEADLINE_SECONDS) == 0, third.text()
    assert traces(root) == {}


def test_a_terminal_that_is_closed_removes_everything_as_ctrl_c_does(root: Path) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "actors.agent.command", "demo", f"--root-dir={root}"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    ) as process:
        os.close(theirs)
        said = b""
        while b"line 1" not in said:
            said += os.read(ours, 4096)
        os.close(ours)
        process.send_signal(signal.SIGHUP)
        assert process.wait(DEADLINE_SECONDS) == 0
    assert traces(root) == {}
