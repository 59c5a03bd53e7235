"""`supervise run-once` with real containers: they are started, said to be, and go on when it has ended."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from actors.container_runtime.images import BUSYBOX_IMAGE
from tests.bench.pods import SCRIPT, manifest
from tests.support.faulty_node import FaultyNode
from tests.support.fork_server_process import ROOT_DIR
from tests.support.runtime import RealRuntime

pytestmark = pytest.mark.node
NUMBERS = itertools.count()


@pytest.fixture
def node(real_runtime: RealRuntime) -> Iterator[FaultyNode]:
    made = FaultyNode(real_runtime, f"once{next(NUMBERS)}")
    try:
        yield made
    finally:
        made.remove()


def run_once(node: FaultyNode, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "actors.agent.command", "run-once", *words, *node._flags()]
    return subprocess.run(command, cwd=ROOT_DIR, capture_output=True, text=True, timeout=100, check=False)


def test_started_pods_keep_running_after_run_once_has_ended(node: FaultyNode) -> None:
    node.add("a", "b")
    done = run_once(node)
    lines = ["bench/a-bench: started", "bench/b-bench: started", "2 of 2 started"]
    assert done.stdout.splitlines() == lines, done.stderr
    assert done.returncode == 0
    before = node.running()
    assert set(before) == {"a", "b"}
    again = run_once(node, "-o", "json")
    assert [one["outcome"] for one in json.loads(again.stdout)] == ["started", "started"]
    assert node.running() == before


def test_failed_pods_are_listed_apart_from_started_ones(node: FaultyNode) -> None:
    node.add("good")
    once = "spec:\n  restartPolicy: Never\n"
    node.write("ended", manifest("ended").replace(SCRIPT, "exit 0").replace("spec:\n", once))
    image = f"image: '{BUSYBOX_IMAGE}', imagePullPolicy: IfNotPresent"
    first = f"  initContainers: [{{name: first, {image}, command: [sh, -c, exit 3]}}]\n"
    node.write("bad", manifest("bad").replace("spec:\n", once + first))
    node.write("broken", "spec: {")
    done = run_once(node, "--timeout=60")
    lines = done.stdout.splitlines()
    assert done.returncode == 1
    assert lines[0].startswith("bench/bad-bench: failed (first: exit code 3")
    assert lines[1].startswith("bench/ended-bench: started")
    assert lines[2] == "bench/good-bench: started"
    assert lines[3].startswith("refused: ")
    assert "broken.yaml" in lines[3]
    assert lines[4].startswith("2 of 3 started; ")


def test_a_pod_that_does_not_start_in_time_is_given_up(node: FaultyNode) -> None:
    node.write("late", manifest("late").replace("image: ", "image: nowhere.invalid/"))
    done = run_once(node, "--timeout=15")
    assert done.returncode == 1
    assert done.stdout.startswith("bench/late-bench: waiting (main: ")
