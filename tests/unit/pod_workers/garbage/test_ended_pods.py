"""What a full disk takes from pods that have ended, and what a node with a limit of dead containers needs."""

from __future__ import annotations

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from actors.pod_workers.containers.names import log_directory_name
from actors.pod_workers.garbage.container_gc import ContainerGcPolicy
from actors.pod_workers.garbage.ended_pods import remove_containers
from actors.pod_workers.garbage.node_limit import is_needed
from actors.pod_workers.pod.desired_state import DesiredState
from actors.pod_workers.pod.phase_transitions import PodWorkerPhase
from actors.pod_workers.pod.state import PodState
from actors.pod_workers.pod.state_values import PodView
from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.cri.errors import Unavailable
from actors.shared.cri.model import CriContainer, CriContainerState, PodRuntime
from actors.shared.kube.meta import ObjectMeta
from actors.shared.kube.pod import Pod


class Shard:
    """The services of a shard: a runtime that keeps the containers in `stuck`."""

    def __init__(self, path: Path) -> None:
        self.removed: list[str] = []
        self.stuck: set[str] = set()
        self.told: list[Any] = []
        self.agent = Agent(root_dir=str(path), config=KubeletConfiguration(podLogsDir=str(path / "logs")))
        self.client = self
        self.actor = SimpleNamespace(
            log=logging.getLogger("worker"), tell=lambda name, message, deadline: self.told.append(message)
        )

    async def remove_container(self, container_id: str) -> None:
        if container_id in self.stuck:
            raise Unavailable("RemoveContainer", "UNAVAILABLE", "the runtime is away")
        self.removed.append(container_id)


def pod_of(uid: str) -> Pod:
    return Pod(metadata=ObjectMeta(name=uid, namespace="d", uid=uid))


def worker(uid: str, phase: PodWorkerPhase, *containers: CriContainer, wanted: bool = True) -> Any:
    runtime = PodRuntime(uid=uid, containers=list(containers)) if containers else None
    desired = DesiredState(pod=pod_of(uid) if wanted else None)
    return SimpleNamespace(state=PodState(uid=uid, phase=phase, wanted=desired, view=PodView(runtime=runtime)))


def container(id: str, state: CriContainerState = CriContainerState.EXITED) -> CriContainer:
    return CriContainer(id=id, name="c", pod_uid="u", sandbox_id="s", state=state)


async def test_a_full_disk_takes_the_exited_containers_of_ended_pods_with_their_logs(tmp_path: Path) -> None:
    shard: Any = Shard(tmp_path)
    logs = tmp_path / "logs" / log_directory_name(pod_of("ended")) / "c"
    logs.mkdir(parents=True)
    for name in ("0.log", "0.log.20260101-000000", "1.log"):
        (logs / name).touch()
    workers = [
        worker("ended", PodWorkerPhase.ENDED, container("a"), container("runs", CriContainerState.RUNNING)),
        worker("running", PodWorkerPhase.RUNNING, container("b")),
        worker("unknown", PodWorkerPhase.ENDED),
        worker("leftover", PodWorkerPhase.ENDED, container("d"), wanted=False),
    ]
    assert await remove_containers(shard, workers) == 1
    assert shard.removed == ["a"]
    assert [path.name for path in logs.iterdir()] == ["1.log"]


async def test_a_container_that_cannot_be_removed_is_reported_and_holds_up_no_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shard: Any = Shard(tmp_path)
    shard.stuck = {"a"}
    assert await remove_containers(shard, [worker("u", PodWorkerPhase.ENDED, container("a"), container("b"))]) == 1
    assert shard.removed == ["b"]
    assert "dead container a stays for now" in caplog.text


@pytest.mark.parametrize(
    ("on_node", "min_age", "needed"), [(-1, 0.0, False), (0, 0.0, True), (5, 0.0, True), (-1, 1.0, True)]
)
def test_the_whole_node_is_looked_at_only_with_a_limit_or_a_minimum_age(
    on_node: int, min_age: float, needed: bool
) -> None:
    assert is_needed(ContainerGcPolicy(on_node=on_node, min_age=min_age)) is needed
