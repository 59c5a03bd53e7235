"""An upgrade, and the way back: the other version recognises the containers that run, and none is started again."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.container_runtime.images import BUSYBOX_IMAGE
from tests.support.faulty_node import NODE_NAME, FaultyNode
from tests.support.fork_server_process import ROOT_DIR
from tests.support.runtime import RealRuntime

pytestmark = [pytest.mark.node, pytest.mark.slow, pytest.mark.timeout(400)]
VERSION = "actors/shared/config/version.py"
RELEASES = ("", "~1")
"""The commit that has given the version of now, and the last one of the version before."""
STATES = {
    ("rich-bench", "first"): "EXITED",
    ("rich-bench", "sidecar"): "RUNNING",
    ("rich-bench", "main"): "RUNNING",
    ("plain-bench", "main"): "RUNNING",
}
POD_NAMES = {pod for pod, _ in STATES}
RICH = f"""\
apiVersion: v1
kind: Pod
metadata: {{name: rich, namespace: bench, labels: {{app: rich}}}}
spec:
  terminationGracePeriodSeconds: 1
  initContainers:
  - name: first
    image: '{BUSYBOX_IMAGE}'
    imagePullPolicy: IfNotPresent
    command: [sh, -c, 'echo here > /data/first']
    volumeMounts: [{{name: data, mountPath: /data}}]
  - name: sidecar
    image: '{BUSYBOX_IMAGE}'
    imagePullPolicy: IfNotPresent
    restartPolicy: Always
    command: [sh, -c, 'trap "exit 0" TERM; sleep 100000 & wait']
    startupProbe: {{exec: {{command: [cat, /data/first]}}, periodSeconds: 1, timeoutSeconds: 20}}
    volumeMounts: [{{name: data, mountPath: /data}}]
  containers:
  - name: main
    image: '{BUSYBOX_IMAGE}'
    imagePullPolicy: IfNotPresent
    command: [sh, -c, 'trap "exit 0" TERM; sleep 100000 & wait']
    env: [{{name: POD, valueFrom: {{fieldRef: {{fieldPath: metadata.name}}}}}}]
    livenessProbe: {{exec: {{command: [cat, /data/first]}}, periodSeconds: 1, timeoutSeconds: 20}}
    readinessProbe: {{exec: {{command: [cat, /labels/labels]}}, periodSeconds: 1, timeoutSeconds: 20}}
    resources: {{requests: {{cpu: 5m, memory: 16Mi}}, limits: {{memory: 64Mi}}}}
    volumeMounts: [{{name: data, mountPath: /data}}, {{name: labels, mountPath: /labels}}]
  volumes:
  - {{name: data, emptyDir: {{medium: Memory, sizeLimit: 1Mi}}}}
  - {{name: labels, downwardAPI: {{items: [{{path: labels, fieldRef: {{fieldPath: metadata.labels}}}}]}}}}
"""


def git(*words: str) -> bytes:
    """Skips where the history is not at hand."""
    done = subprocess.run(["git", *words], cwd=ROOT_DIR, capture_output=True, timeout=60, check=False)
    if done.returncode or not done.stdout:
        pytest.skip(f"NOT TESTED: no earlier version in the history: {done.stderr.decode().strip()}")
    return done.stdout


@pytest.fixture(params=RELEASES, ids=("release", "version before"))
def earlier(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The sources of an earlier version, run with the libraries of now."""
    release = git("log", "-1", "--format=%H", "-G^OWN_VERSION", "--", VERSION).decode().strip()
    archive = git("archive", f"{release}{request.param}")
    subprocess.run(["tar", "--extract", f"--directory={tmp_path}"], input=archive, timeout=60, check=True)
    return tmp_path


@pytest.fixture
def node(real_runtime: RealRuntime) -> Iterator[FaultyNode]:
    made = FaultyNode(real_runtime, "upgraded")
    try:
        yield made
    finally:
        made.remove()
        shutil.rmtree(made.home, ignore_errors=True)


def start(node: FaultyNode, sources: Path) -> None:
    """With the supervision policy that these sources bring."""
    shutil.copy(sources / "etc/supervision.yaml", node.home / "policy.yaml")
    node.sources = sources
    node.start()


def containers(node: FaultyNode) -> dict[tuple[str, str], tuple[str, int, str]]:
    """Id, attempt and state of each container of the pods that are not to notice, by pod and name."""
    return {
        (one.pod_name, one.name): (one.id, one.restart_count, one.state.name)
        for one in node.containers()
        if one.pod_name in POD_NAMES
    }


def all_run(node: FaultyNode) -> bool:
    return {key: state for key, (_, _, state) in containers(node).items()} == STATES


def ready(node: FaultyNode) -> set[str]:
    """The pods that the agent of now calls ready."""
    command = [sys.executable, "-m", "actors.agent.command", "pods", "-o", "json", f"--root-dir={node.home}/root"]
    done = subprocess.run(command, cwd=ROOT_DIR, capture_output=True, text=True, timeout=60, check=True)
    return {
        pod["metadata"]["name"].removesuffix(f"-{NODE_NAME}")
        for pod in json.loads(done.stdout)["items"]
        if {"True"} == {one["status"] for one in pod["status"]["conditions"] if one["type"] == "Ready"}
    }


def test_the_next_version_and_the_previous_one_adopt_running_containers(node, earlier) -> None:
    start(node, earlier)
    node.write("rich", RICH)
    node.add("plain")
    node.until(lambda: all_run(node), "all containers run")
    before = containers(node)
    assert {attempt for _, attempt, _ in before.values()} == {0}
    node.stop()
    assert node.exit_code == 0

    start(node, Path(ROOT_DIR))
    node.wait_whole()
    node.add("of-now")  # once it runs, the workers have looked at what there was
    node.until(lambda: ready(node) == {"rich", "plain", "of-now"}, "every pod is ready")
    assert containers(node) == before
    node.stop()
    assert node.exit_code == 0

    start(node, earlier)
    node.add("after-the-way-back")
    node.wait_running("of-now", "after-the-way-back")
    assert containers(node) == before
    for manifest in node.manifests.glob("*.yaml"):
        manifest.unlink()
    node.until(lambda: not node.containers(), "all containers gone")
