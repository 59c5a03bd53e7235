"""Which pods are known when neither the agent nor its runtime answers."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from actors.agent.inspection.node_pods import find
from actors.agent.inspection.pod_rows import row
from actors.agent.inspection.without_agent import pods_without_agent
from actors.shared.config.paths import state_dir_of
from actors.shared.config.start.start_records import StartRecord, _file
from supervision.cli.command import NOT_RUNNING, CommandError

STATIC, OF_API = "0" * 32, "11111111-2222-3333-4444-555555555555"
GONE = CommandError(NOT_RUNNING, "no agent is running")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """That of an agent with a managed runtime, which has ended: a static pod runs, one of the API has ended."""
    root = tmp_path / "root"
    logs = root / "logs"
    for uid, name, last in ((STATIC, "web-n1", 3), (OF_API, "job", 0)):
        (root / "pods" / uid).mkdir(parents=True)
        (logs / f"shop_{name}_{uid}" / "main").mkdir(parents=True)
        (logs / f"shop_{name}_{uid}" / "main" / f"{last}.log").touch()
    tasks = tmp_path / "run" / "state" / "io.containerd.runtime.v2.task" / "k8s.io"
    for uid, pid in ((STATIC, os.getpid()), (OF_API, 2**22 + 1)):
        bundle = tasks / f"task-of-{uid}"
        bundle.mkdir(parents=True)
        notes = {"sandbox-uid": uid, "container-name": "main", "image-name": "busybox"}
        annotations = {f"io.kubernetes.cri.{name}": value for name, value in notes.items()}
        (bundle / "config.json").write_text(json.dumps({"annotations": annotations}))
        (bundle / "init.pid").write_text(str(pid))
    (tasks / "half-made").mkdir()
    record(root, managed_root=f"{root}/containerd", managed_state=f"{tmp_path}/run")
    return root


def record(root: Path, **more: object) -> None:
    os.makedirs(state_dir_of(str(root)), exist_ok=True)
    fields: dict[str, object] = {
        "root_dir": str(root),
        "run_dir": f"{root}-run",
        "runtime_endpoint": "unix:///nowhere.sock",
        "pod_logs_dir": f"{root}/logs",
        "container_logs_dir": f"{root}-links",
        "cert_dir": f"{root}/pki",
        **more,
    }
    _file(state_dir_of(str(root))).save([StartRecord(**fields)])  # type: ignore[arg-type]


def test_a_container_whose_shim_lives_runs_and_one_that_has_ended_does_not(root: Path) -> None:
    found = pods_without_agent(str(root), GONE, 1.0)
    assert [row(pod, 0.0)[:5] for pod in found.pods] == [
        ("shop", "web-n1", "?/1", "Running", "3"),
        ("shop", "job", "0/1", "Unknown", "0"),
    ]
    assert found.problems[0] == "no agent is running"
    assert "the containerd of the agent ended with it" in found.problems[1]
    assert find(found.pods, "web", by_runtime=True)["metadata"]["uid"] == STATIC, "by the name in its manifest"


def test_containers_are_in_the_order_of_their_start_and_the_pod_has_an_age(root: Path) -> None:
    tasks = root.parent / "run" / "state" / "io.containerd.runtime.v2.task" / "k8s.io"
    for name, start in (("a-side", 30), ("z-first", 20), ("m-pause", 10)):
        bundle = tasks / name
        bundle.mkdir()
        notes = {"sandbox-uid": STATIC, **({} if name == "m-pause" else {"container-name": name})}
        annotations = {f"io.kubernetes.cri.{key}": value for key, value in notes.items()}
        (bundle / "config.json").write_text(json.dumps({"annotations": annotations}))
        (bundle / "init.pid").write_text(str(os.getpid()))
        os.utime(bundle / "init.pid", (start, start))
    pod = find(pods_without_agent(str(root), GONE, 1.0).pods, "web", by_runtime=True)
    assert [one["name"] for one in pod["spec"]["containers"]] == ["z-first", "a-side", "main"]
    assert pod["status"]["startTime"] == "1970-01-01T00:00:10Z"
    assert pod["status"]["containerStatuses"][0]["state"] == {"running": {"startedAt": "1970-01-01T00:00:20Z"}}


def test_a_runtime_that_cannot_be_reached_is_named(root: Path) -> None:
    record(root)
    found = pods_without_agent(str(root), GONE, 5.0)
    assert {pod["metadata"]["name"] for pod in found.pods} == {"web-n1", "job"}
    assert "/nowhere.sock: connect: no such file or directory" in found.problems[1]


@pytest.mark.parametrize("more", [{"handed_over": True}, {"root_dir": "/elsewhere"}])
def test_pods_of_another_agent_are_not_shown(root: Path, more: dict[str, object]) -> None:
    record(root, **more)
    with pytest.raises(CommandError, match="no agent is running"):
        pods_without_agent(str(root), GONE, 1.0)
