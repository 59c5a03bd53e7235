"""The runtime, the fork server and the whole agent injured."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.container_runtime.processes import commands
from actors.shared.config.paths import run_dir_of
from actors.shared.config.start import refused_starts
from tests.bench.node import agent_processes
from tests.bench.pods import SCRIPT, manifest
from tests.support.faulty_node import FaultyNode
from tests.support.managed import managed_runtime
from tests.support.remains import links_into
from tests.support.runtime import RealRuntime


@pytest.fixture
def node(real_runtime: RealRuntime, tmp_path: Path) -> Iterator[FaultyNode]:
    with FaultyNode(real_runtime).serving() as agent:
        yield agent
        agent.withdraw_all()
        assert list((agent.home / "logs").iterdir()) == []
        assert list(links_into(agent.home)) == []


def processes_of(node: FaultyNode) -> list[str]:
    """Whatever runs for the agent, by pid and title."""
    there = set(agent_processes(node.home))
    return [f"{pid} {argv[:4]}" for pid, argv in commands() if pid in there]


def wait_no_process(node: FaultyNode, seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while left := processes_of(node):
        assert time.monotonic() < deadline, left
        time.sleep(0.01)


def refused(node: FaultyNode, *flags: str) -> str:
    """What a start with these flags as well says before it ends with 1."""
    own = [f"--root-dir={node.home}/refused", f"--config={node.home}/config.json", "--set-kernel-tunables=false"]
    arguments = [*own, *flags]
    done = subprocess.run(
        [sys.executable, "-m", "actors.agent.command", "start", *arguments], capture_output=True, text=True, timeout=60
    )
    refused_starts.forget(run_dir_of(f"{node.home}/refused"))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    return done.stderr


LOOPING = "echo begun; sleep 1; exit 3"


def looping(name: str) -> str:
    """A pod whose container ends after a second, to be started again and again."""
    return manifest(name).replace(SCRIPT, LOOPING)


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


def test_the_runtime_killed_while_it_starts_twenty_pods_loses_and_doubles_none(node):
    names = [f"burst-{number}" for number in range(20)]
    node.add(*names)
    node.until(lambda: len(node.running()) >= 5, "the first pods run")
    early = node.running()
    node.runtime.restart()
    node.wait_running(*names, seconds=90)
    assert node.doubles() == []
    now = node.running()
    assert {name: now[name] for name in early} == early
    assert node.incidents() == []


def test_a_killed_stage_leaves_no_process_and_its_successor_adopts_every_container(node):
    node.add("a", "b", "c")
    node.wait_running("a", "b", "c")
    before = node.running()
    assert len(processes_of(node)) > len(node.actors())
    node.kill_fork_server()
    wait_no_process(node)
    node.start()
    node.wait_whole()
    node.add("d")
    node.wait_running("a", "b", "c", "d")
    assert {name: node.running()[name] for name in before} == before


def test_restart_counts_continue_after_any_process_is_killed(node):
    node.write("loop", looping("loop"))

    def count() -> int:
        return max((one.restart_count for one in node.containers()), default=-1)

    seen = []
    for number, injure in enumerate((lambda: None, node.kill_workers, node.kill_fork_server_and_start), start=1):
        injure()
        node.until(lambda number=number: count() >= number, f"restart {number}", 90.0)
        seen.append(count())
        instances = [(one.pod_name, one.restart_count) for one in node.containers()]
        assert len(instances) == len(set(instances)), "each count is one container"
    assert seen == sorted(seen)


def test_an_agent_that_is_killed_again_and_again_while_it_starts_pods_starts_each_once(node):
    names = [f"burst-{number}" for number in range(8)]
    node.add(*names)
    for _ in range(4):
        time.sleep(0.7)
        node.kill_fork_server_and_start()
    node.wait_running(*names, seconds=90)
    assert node.doubles() == []
    steady = node.running()
    node.kill_fork_server_and_start()
    node.wait_whole()
    assert node.running() == steady


def test_the_whole_agent_killed_while_it_ends_ten_pods_ends_them_all_and_no_other(node):
    names = [f"burst-{number}" for number in range(10)]
    node.add("stays", *names)
    node.wait_running("stays", *names)
    stays = node.running()["stays"]
    for name in names:
        node.withdraw(name)
    node.until(lambda: len(node.running()) <= 8, "the first pods have ended")
    node.kill_fork_server_and_start()
    node.wait_gone(*names)
    node.until(lambda: len(node.traces()) <= 2, "no trace but of the one that stays")
    assert node.running() == {"stays": stays}


def test_an_orderly_stop_leaves_containers_and_no_process(node):
    node.add("a", "b")
    node.wait_running("a", "b")
    before, ports = node.running(), (node.healthz_port, node.port)
    node.stop()
    assert node.exit_code == 0
    wait_no_process(node)
    assert node.running() == before
    for port in ports:
        with socket.socket() as sock:
            # connections that have ended may still be remembered by the system; a listener may not be there
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind(("127.0.0.1", port))
            sock.listen()
    node.start()
    node.wait_whole()
    assert node.running() == before


def test_the_whole_agent_killed_while_it_starts_twenty_pods_starts_each_of_them_once(node):
    names = [f"burst-{number}" for number in range(20)]
    node.add(*names)
    node.until(lambda: len(node.running()) >= 5, "the first pods run")
    early = node.running()
    node.kill_fork_server_and_start()
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


def test_a_second_agent_on_the_same_directory_is_refused_and_the_first_continues(node):
    arguments = [f"--root-dir={node.home}/root", f"--config={node.home}/config.json", "--set-kernel-tunables=false"]
    second = subprocess.run(
        [sys.executable, "-m", "actors.agent.command", "start", *arguments], capture_output=True, text=True, timeout=60
    )
    assert second.returncode == 1
    assert str(node.fork_server_pid) in second.stderr
    assert node.healthy()


def test_a_second_signal_ends_the_fork_server_at_once(node):
    for actor in node.actors().values():
        os.kill(actor.pid, signal.SIGSTOP)
    process = node._process
    assert process is not None
    process.send_signal(signal.SIGTERM)
    node.until(lambda: node.tree().state == "stopping", "it has begun to stop")
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 1
    node._process = None
    node.start()


def test_a_bad_manifest_is_reported_and_running_pods_continue(node):
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


def test_two_agents_side_by_side_do_not_interfere(node):
    node.add("same-name")
    node.wait_running("same-name")
    mine = node.running()
    with managed_runtime("other") as runtime:
        other = FaultyNode(runtime, "other")
        try:
            other.start()
            other.wait_whole()
            other.add("same-name", "second")
            other.wait_running("same-name", "second")
            other_running = other.running()
            assert not {one for one, _ in mine.values()} & {one for one, _ in other_running.values()}
            node.kill_fork_server()
            assert other.healthy()
            assert other.tree().state == "ready"
            node.start()
            other.kill_fork_server_and_start()
            node.wait_whole()
            other.wait_whole()
            assert (node.running(), other.running()) == (mine, other_running)
            other.withdraw("same-name")
            other.wait_gone("same-name")
            assert node.running() == mine
        finally:
            other.remove()


def test_malformed_settings_are_refused_at_start_by_file_and_field_and_pods_keep_running(node, tmp_path):
    node.add("a")
    node.wait_running("a")
    before = node.running()
    policy, config = tmp_path / "policy.yaml", tmp_path / "config.yaml"
    policy.write_text("version: 1\nactors: {pleg: {max_restart: 3}, plague: {}}\n")
    config.write_text("kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\nmaxPods: many\n")
    said = refused(node, f"--policy={policy}")
    assert str(policy) in said
    assert "max_restart" in said
    assert "plague" in said
    said = refused(node, f"--config={config}")
    assert str(config) in said
    assert "maxPods" in said
    assert "--max-pods" in refused(node, "--max-pods=many")
    assert "--max-potts" in refused(node, "--max-potts=5")
    for endpoint in ("tcp://127.0.0.1:1", f"unix://{config}", "unix://relative", f"unix:///{'x' * 110}"):
        said = refused(node, f"--container-runtime-endpoint={endpoint}")
        assert "containerRuntimeEndpoint" in said
        assert endpoint[:40] in said
    assert node.healthy()
    assert node.running() == before


def test_an_agent_without_a_runtime_reports_it_and_starts_pods_once_there_is_one(node):
    node.stop()
    node.runtime.kill()
    Path(node.runtime.socket).unlink()
    node.add("a")
    logged_before = node.log.stat().st_size
    try:
        node.start()
        node.wait_whole()
        node.until(lambda: _runtime_missed(node, logged_before), "it says so")
    finally:
        node.runtime.start()
    node.wait_running("a")
    assert node.incidents() == []


def _runtime_missed(node: FaultyNode, after: int) -> bool:
    lines = node.log.read_bytes()[after:].decode().splitlines()
    return any("container runtime: " in line and node.runtime.socket in line for line in lines)
