"""The runtime, the stage and the whole agent injured."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.faulty_node import FaultyNode
from tests.support.runtime import RealRuntime


@pytest.fixture
def node(real_runtime: RealRuntime, tmp_path: Path) -> Iterator[FaultyNode]:
    agent = FaultyNode(real_runtime)
    agent.start()
    agent.wait_whole()
    yield agent
    for manifest in agent.manifests.glob("*.yaml"):
        manifest.unlink()
    agent.until(lambda: not agent.running(), "every pod gone")
    agent.until(lambda: not agent.traces(), "no trace of a pod")
    agent.remove()
    subprocess.run(["umount", "-q", f"{agent.home}/root/pods"], check=False)
    shutil.rmtree(agent.home)


def processes_of(node: FaultyNode) -> list[int]:
    """Every process that the agent forked, and the stage."""
    return [node.stage_pid, *(actor.pid for actor in node.actors().values() if actor.pid)]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_the_runtime_killed_and_started_again_harms_no_container(node):
    node.add("a", "b")
    node.wait_running("a", "b")
    before = node.running()
    node.runtime.kill()
    time.sleep(2)
    node.runtime.start()
    node.add("c")
    node.wait_running("a", "b", "c")
    assert {name: node.running()[name] for name in before} == before
    assert node.incidents() == []


def test_a_killed_stage_leaves_no_process_and_its_successor_adopts_every_container(node):
    node.add("a", "b", "c")
    node.wait_running("a", "b", "c")
    before, pids = node.running(), processes_of(node)
    node.kill_stage()
    deadline = time.monotonic() + 10
    while [pid for pid in pids if alive(pid)] and time.monotonic() < deadline:
        time.sleep(0.01)
    assert [pid for pid in pids if alive(pid)] == []
    node.start()
    node.wait_whole()
    node.add("d")
    node.wait_running("a", "b", "c", "d")
    assert {name: node.running()[name] for name in before} == before


def test_the_whole_agent_killed_while_it_starts_twenty_pods_starts_each_of_them_once(node):
    names = [f"burst-{number}" for number in range(20)]
    node.add(*names)
    node.until(lambda: len(node.running()) >= 5, "the first pods run")
    early = node.running()
    node.kill_stage()
    node.start()
    node.wait_running(*names, seconds=90)
    assert node.doubles() == []
    now = node.running()
    assert {name: now[name] for name in early} == early
    # a start that was cut off in the runtime counts as one that failed
    assert {count for _, count in now.values()} <= {0, 1}


def test_a_pod_that_was_withdrawn_while_the_agent_was_down_is_ended(node):
    node.add("a", "b")
    node.wait_running("a", "b")
    node.stop()
    assert set(node.running()) == {"a", "b"}
    node.withdraw("a")
    node.start()
    node.wait_gone("a")
    assert set(node.running()) == {"b"}


def test_a_second_agent_on_the_same_directory_is_refused_and_the_first_goes_on(node):
    arguments = [f"--root-dir={node.home}/root", f"--config={node.home}/config.json"]
    second = subprocess.run(
        [sys.executable, "-m", "actors.command", "start", *arguments], capture_output=True, text=True, timeout=60
    )
    assert second.returncode == 1
    assert str(node.stage_pid) in second.stderr
    assert node.healthy()


def test_a_second_signal_ends_the_stage_at_once(node):
    for actor in node.actors().values():
        os.kill(actor.pid, signal.SIGSTOP)
    process = node._process
    assert process is not None
    process.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    assert process.wait(5) == 1
    node._process = None
    node.start()


def test_a_bad_manifest_is_named_and_what_runs_goes_on(node):
    node.add("a")
    node.wait_running("a")
    before = node.running()
    good = (node.manifests / "a.yaml").read_text()
    node.write("a", good.replace("command:", "commando:"))
    node.write("worse", "{")
    node.until(lambda: "spec.containers[0].commando: unknown field" in node.log.read_text(), "the field is named")
    node.until(lambda: "worse.yaml" in node.log.read_text(), "the file is named")
    assert node.running() == before
    (node.manifests / "worse.yaml").unlink()
    node.write("a", good)
