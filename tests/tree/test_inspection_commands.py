"""`supervise pods`, `describe pod` and `events` against a whole agent without a runtime, and with a part wedged."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import yaml

from actors.api_clients.event_client.messages import EVENT_CLIENT
from supervision.cli.command import NO_ANSWER
from tests.support.agent_command import HARMLESS, START, AgentCommand
from tests.support.tcp_ports import free_port

pytestmark = pytest.mark.tree
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec: {containers: [{name: main, image: nginx}]}
"""


class Node:
    """An agent and the command line of an operator."""

    def __init__(self, directory: Path) -> None:
        self.root_dir, pods = directory / "root", directory / "pods"
        pods.mkdir()
        (pods / "web.yaml").write_text(POD)
        (pods / "bad.yaml").write_text(POD.replace("image", "imag"))
        flags = [
            f"--root-dir={self.root_dir}", f"--pod-manifest-path={pods}", f"--port={free_port()}", "--healthz-port=0",
            "--hostname-override=n1", f"--container-runtime-endpoint=unix://{directory}/none.sock",
        ]  # fmt: skip
        self._command = [*START, *HARMLESS, *flags]
        self.agent = self.again()

    def again(self) -> AgentCommand:
        """Another agent with the same flags."""
        return AgentCommand(self._command, self.root_dir)

    def supervise(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "actors.agent.command", *words, f"--root-dir={self.root_dir}"]
        return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    with tempfile.TemporaryDirectory(prefix="agent-") as directory:
        node = Node(Path(directory))
        with node.agent as agent:
            agent.wait_ready()
            agent.until(lambda: "none.sock" in node.supervise("describe", "pod", "web").stdout, "the pod and its error")
            yield node


def test_pods_that_wait_and_manifests_that_were_refused_are_shown(node: Node) -> None:
    done = node.supervise("pods")
    assert done.returncode == 0, done.stderr
    header, pod, *refused = done.stdout.splitlines()
    assert header.split() == ["NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert pod.split()[:4] == ["shop", "web-n1", "0/1", "ContainerCreating"]
    assert any(
        "bad.yaml: line 4: spec.containers[0].imag: unknown field, did you mean image?" in line for line in refused
    )


def test_wide_json_and_yaml_show_more(node: Node) -> None:
    assert "pod_workers/worker/" in node.supervise("pods", "-o", "wide").stdout
    assert json.loads(node.supervise("pods", "web", "-o", "json").stdout)["metadata"]["name"] == "web-n1"
    assert yaml.safe_load(node.supervise("pods", "-o", "yaml").stdout)["kind"] == "PodList"


def test_one_pod_is_described_under_the_name_of_its_manifest(node: Node) -> None:
    done = node.supervise("describe", "pod", "web")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Pod:        shop/web-n1\n")
    assert "Source:     file" in done.stdout
    assert " nginx" in next(line for line in done.stdout.splitlines() if "Image:" in line)


def test_without_a_name_all_pods_are_described(node: Node) -> None:
    done = node.supervise("describe", "pod")
    assert done.stdout.startswith("Pod:        shop/web-n1\n")
    assert "refused: " in done.stdout
    assert json.loads(node.supervise("describe", "pod", "-o", "json").stdout)["kind"] == "PodList"
    assert "-w needs the name of a pod" in node.supervise("describe", "pod", "-w").stderr


@pytest.mark.parametrize(
    "command",
    ["status", "tree", "top -n 1", "incidents", "policy show", "doctor", "logs -n 3", "events", "config history"],
)
def test_every_document_is_the_same_in_yaml(node: Node, command: str) -> None:
    done = node.supervise(*command.split(), "-o", "yaml")
    assert "error" not in done.stderr
    as_json = json.loads(node.supervise(*command.split(), "-o", "json").stdout)
    as_yaml = yaml.safe_load(done.stdout)
    assert type(as_yaml) is type(as_json)
    assert list(as_yaml)[:1] == list(as_json)[:1] or isinstance(as_yaml, list)


def test_a_missing_pod_is_an_error_with_a_hint(node: Node) -> None:
    done = node.supervise("describe", "pod", "wev-n1")
    assert (done.returncode, done.stdout) == (4, "")
    assert "there is no pod wev-n1 on this node, did you mean web-n1?" in done.stderr


def test_why_a_pod_waits_is_reported_when_the_runtime_is_away(node: Node) -> None:
    done = node.supervise("describe", "pod", "web")
    assert "Last error: " in done.stdout
    assert "none.sock: connect: no such file or directory" in done.stdout


def test_the_absence_of_events_is_reported(node: Node) -> None:
    assert node.supervise("events").stdout.startswith("no events since event_client started ")
    assert json.loads(node.supervise("events", "-o", "json").stdout) == []


def test_events_of_a_missing_pod_are_an_error_and_of_one_without_events_are_none(node: Node) -> None:
    done = node.supervise("events", "no-such-pod")
    assert (done.returncode, done.stdout) == (4, "")
    assert "there is no pod no-such-pod on this node" in done.stderr
    assert node.supervise("events", "web").returncode == 0


def test_a_short_name_of_an_actor_is_enough(node: Node) -> None:
    assert node.supervise("inject", "worker/0", "slow", "--rate=0.001", "--seconds=0.1").returncode == 0
    done = node.supervise("inject", "worker/9", "slow")
    assert done.returncode == 4
    assert "there is no actor worker/9" in done.stderr


@contextmanager
def stopped(node: Node, actor: str) -> Iterator[None]:
    pid = node.agent.tree()[actor].pid
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def test_a_wedged_status_manager_is_reported_and_the_runtime_is_queried(node: Node) -> None:
    with stopped(node, "status_manager"):
        done = node.supervise("pods")
    assert done.returncode == 0, done.stderr
    assert "what follows is what the runtime has: status_manager is stopped by a signal" in done.stderr
    assert "bad.yaml" in done.stdout


@pytest.mark.parametrize("command", ["pods no-such-pod", "describe pod no-such-pod", "logs no-such-pod"])
def test_a_pod_known_only_to_a_wedged_status_manager_is_not_reported_missing(node: Node, command: str) -> None:
    with stopped(node, "status_manager"):
        done = node.supervise(*command.split())
    assert done.returncode == NO_ANSWER, done.stderr
    assert "the runtime has no pod no-such-pod, and status_manager does not answer" in done.stderr


@pytest.mark.parametrize(
    ("actor", "command", "missing"),
    [
        ("pod_config", "pods", "refused manifests are not shown: pod_config is stopped by a signal"),
        ("pod_config", "describe pod web", "refused manifests are not shown: pod_config is stopped by a signal"),
        (
            "event_client",
            "describe pod web",
            "events are those of the log: api_clients/event_client is stopped by a signal",
        ),
    ],
)
def test_while_a_part_is_wedged_the_others_are_shown_and_it_is_named(
    node: Node, actor: str, command: str, missing: str
) -> None:
    with stopped(node, {"event_client": EVENT_CLIENT}.get(actor, actor)):
        done = node.supervise(*command.split())
    assert done.returncode == 0, done.stderr
    assert missing in done.stderr + done.stdout
    assert "web-n1" in done.stdout


def test_the_error_names_the_actor_that_holds_the_events(node: Node) -> None:
    with stopped(node, EVENT_CLIENT):
        done = node.supervise("events")
    assert done.returncode == 5
    first, second = done.stderr.splitlines()
    assert first == f"supervise: {EVENT_CLIENT} is stopped by a signal"
    assert second.startswith("supervise: what follows is what its log says, ")
    assert "web" in done.stdout or done.stdout == "no events in the log\n"


def test_a_follower_of_pods_reports_the_end_of_the_agent_and_follows_the_next_one(tmp_path: Path) -> None:
    first = Node(tmp_path)
    command = [sys.executable, "-m", "actors.agent.command", "pods", "-w", f"--root-dir={first.root_dir}"]
    with first.agent as agent:
        agent.wait_ready()
        follower = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            assert follower.stdout is not None
            assert follower.stderr is not None
            # what the agent refuses may be known, and shown, before its pods are
            seen = itertools.takewhile(lambda line: "web-n1" not in line, follower.stdout)
            assert any(line.startswith("NAMESPACE ") for line in seen)
            agent.stop()
            assert "waiting for it" in follower.stderr.readline()
            (tmp_path / "pods" / "other.yaml").write_text(POD.replace("name: web", "name: other"))
            with first.again() as other:
                other.wait_ready()
                assert any("other-n1" in line for line in follower.stdout)
        finally:
            follower.send_signal(signal.SIGINT)
            follower.communicate(timeout=30)
    assert follower.returncode == 130
