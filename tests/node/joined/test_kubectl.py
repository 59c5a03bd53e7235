"""kubectl itself against a pod of the node: logs, exec, attach, cp, port-forward, through the API server."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.joined import Joined, container, pod, status
from tests.support.waiting import wait_for

pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="NOT TESTED: no kubectl here")
TALKS = "n=0; trap 'exit 0' TERM; while :; do echo line $n; n=$((n+1)); sleep 0.2; done"
SERVES = "trap 'exit 0' TERM; while :; do echo hello from $HOSTNAME | nc -l -p 8080; done & while :; do sleep 0.1; done"
ECHOES = "trap 'exit 0' TERM; while read -r word; do echo heard $word; done"
STREAM_SECONDS = 40.0


@pytest.fixture(scope="module")
def pods(site: Joined) -> Iterator[Joined]:
    both = [container("talks", "sh", "-c", TALKS), container("serves", "sh", "-c", SERVES)]
    site.create(
        pod("tool", *both, terminationGracePeriodSeconds=1),
        pod("echo", container("main", "sh", "-c", ECHOES, stdin=True), terminationGracePeriodSeconds=1),
    )
    site.wait_pods_ready("tool", "echo")
    yield site
    for name in ("tool", "echo"):
        site.delete(name)
    site.wait_no_pod("tool", "echo")


def test_logs_are_shown_whole_in_part_and_as_they_come(pods: Joined) -> None:
    wait_for(lambda: pods.kubectl("logs", "tool", "-c", "talks") != "")  # it is Ready before it has said anything
    shown = pods.kubectl("logs", "tool", "-c", "talks").splitlines()
    assert shown[0] == "line 0"
    assert pods.kubectl("logs", "tool", "-c", "talks", "--tail=1").count("\n") == 1
    stamped = pods.kubectl("logs", "tool", "-c", "talks", "--timestamps", "--limit-bytes=100")
    assert re.match(r"\d{4}-\d\d-\d\dT[0-9:.]+(Z|\+00:00) line 0\n", stamped)
    with subprocess.Popen(
        ["kubectl", f"--kubeconfig={pods.cluster.admin}", "logs", "-f", "tool", "-ctalks", "--tail=1"],
        stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        stop = threading.Timer(STREAM_SECONDS, process.kill)
        stop.start()
        try:
            numbers = [int(process.stdout.readline().removeprefix("line ") or -1) for _ in range(5)]
        finally:
            stop.cancel()
            process.kill()
    assert numbers == list(range(numbers[0], numbers[0] + 5))


def test_the_last_end_of_a_crash_loop_is_its_previous_log(pods: Joined) -> None:
    pods.create(pod("crashes", container("main", "sh", "-c", "echo last words; exit 1")))

    def waits() -> bool:
        found = status(pods.pod("crashes")).get("containerStatuses") or [{}]
        waiting = found[0].get("state", {}).get("waiting", {}).get("reason") == "CrashLoopBackOff"
        return bool(waiting and found[0]["restartCount"])

    pods.pods.until(waits, "a crash loop", STREAM_SECONDS)
    assert pods.kubectl("logs", "crashes", "--previous") == "last words\n"
    pods.delete("crashes")
    pods.wait_no_pod("crashes")


def test_exec_gives_output_input_and_exit_code(pods: Joined) -> None:
    assert pods.kubectl("exec", "tool", "-c", "serves", "--", "echo", "out") == "out\n"
    assert pods.kubectl("exec", "-i", "tool", "-c", "serves", "--", "cat", data="given\n") == "given\n"
    done = pods.cluster.run_kubectl("exec", "tool", "-c", "serves", "--", "sh", "-c", "echo bad >&2; exit 7")
    assert (done.returncode, "bad" in done.stderr) == (7, True)


def test_much_data_passes_unharmed(pods: Joined) -> None:
    counted = pods.kubectl("exec", "tool", "-c", "serves", "--", "sh", "-c", "head -c 3000000 /dev/zero | tr '\\0' x")
    assert len(counted) == 3_000_000


def test_exec_into_a_missing_container_reports_it(pods: Joined) -> None:
    done = pods.cluster.run_kubectl("exec", "tool", "-c", "serves", "--", "/no/such/program")
    assert done.returncode != 0
    assert "no such file" in done.stderr


def test_files_are_copied_both_ways(pods: Joined, tmp_path: Path) -> None:
    if pods.cluster.run_kubectl("exec", "tool", "-c", "serves", "--", "tar", "--help").returncode:
        pytest.skip("NOT TESTED: the image has no tar, which kubectl cp needs")
    mine = tmp_path / "mine"
    mine.write_bytes(bytes(range(256)) * 100)
    pods.kubectl("cp", str(mine), "tool:/tmp/theirs", "-c", "serves")
    pods.kubectl("cp", "tool:/tmp/theirs", str(tmp_path / "back"), "-c", "serves")
    assert (tmp_path / "back").read_bytes() == mine.read_bytes()


def test_attach_speaks_with_the_main_process(pods: Joined) -> None:
    with subprocess.Popen(
        ["kubectl", f"--kubeconfig={pods.cluster.admin}", "attach", "-i", "echo"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        stop = threading.Timer(STREAM_SECONDS, process.kill)
        stop.start()
        try:
            for _ in range(10):
                process.stdin.write("there\n")
                process.stdin.flush()
                time.sleep(0.1)
            assert "heard there" in process.stdout.readline()
        finally:
            stop.cancel()
            process.kill()


def listens(pods: Joined) -> bool:
    """Whether the pod takes a connection to 8080: there is a new listener after each."""
    show = "cat /proc/net/tcp /proc/net/tcp6 2>/dev/null; true"
    lines = pods.kubectl("exec", "tool", "-c", "serves", "--", "sh", "-c", show).splitlines()
    return any(f":{8080:X}" in local and state == "0A" for _, local, _, state, *_ in map(str.split, lines))


def test_a_port_is_forwarded(pods: Joined) -> None:
    with subprocess.Popen(
        ["kubectl", f"--kubeconfig={pods.cluster.admin}", "port-forward", "pod/tool", ":8080"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            found = re.search(r"127.0.0.1:(\d+) -> 8080", line)
            assert found, line
            for _ in range(2):
                wait_for(lambda: listens(pods))
                with socket.create_connection(("127.0.0.1", int(found[1])), timeout=STREAM_SECONDS) as sock:
                    assert sock.makefile().readline() == "hello from tool\n"
        finally:
            process.kill()


def test_a_stream_outlives_the_restart_of_other_actors(pods: Joined) -> None:
    with subprocess.Popen(
        ["kubectl", f"--kubeconfig={pods.cluster.admin}", "exec", "-i", "tool", "-c", "serves", "--", "cat"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write("before\n")
            process.stdin.flush()
            assert process.stdout.readline() == "before\n"
            for name in ("pod_workers/worker/0", "pod_workers/worker/1", "api_clients/kube_client", "pleg"):
                was = pods.node.actors()[name].incarnation
                pods.node.inject(name, "crash")
                pods.node.wait_replaced(name, was)
            process.stdin.write("after\n")
            process.stdin.flush()
            assert process.stdout.readline() == "after\n"
            process.stdin.close()
            assert process.wait(STREAM_SECONDS) == 0
        finally:
            process.kill()


def test_a_debug_container_joins_a_pod_that_runs(pods: Joined) -> None:
    before = pods.running_ids()
    pods.kubectl("debug", "tool", "--image=docker.io/library/busybox:latest", "--image-pull-policy=IfNotPresent",
                 "--container=helper", "--target=talks", "--", "sh", "-c", "echo seen: $(ls /proc/1/comm)")  # fmt: skip

    def ended() -> dict[str, Any]:
        statuses = status(pods.pod("tool")).get("ephemeralContainerStatuses") or [{}]
        return statuses[0].get("state", {}).get("terminated") or {}

    pods.pods.until(lambda: ended(), "the debug container has ended", 60)
    assert ended()["exitCode"] == 0
    assert pods.kubectl("logs", "tool", "-c", "helper") == "seen: /proc/1/comm\n"
    assert pods.running_ids().items() >= before.items()


def test_the_node_itself_is_read_through_the_server(pods: Joined) -> None:
    assert pods.kubectl("get", "--raw", "/api/v1/nodes/bench/proxy/healthz") == "ok"
    assert '"tool"' in pods.kubectl("get", "--raw", "/api/v1/nodes/bench/proxy/pods")
