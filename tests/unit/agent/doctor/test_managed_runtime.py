"""What keeps a managed runtime from its start."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.agent.doctor import runtime_checks
from actors.agent.doctor.finding import Level
from actors.agent.doctor.runtime_checks import runtime, unprepared
from actors.container_runtime import network
from actors.container_runtime.errors import MissingPrograms
from actors.container_runtime.host import RuntimeHost
from actors.container_runtime.instance import ManagedRuntime
from actors.shared.config.agent import Agent


def test_pods_with_addresses_of_another_network_keep_a_managed_runtime_from_its_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = RuntimeHost(containerd="c", runc="r", ctr="t", plugin_dir="p")
    monkeypatch.setattr(runtime_checks, "look", lambda root: host)
    agent = Agent(root_dir=str(tmp_path), run_dir=f"{tmp_path}/run", managed_runtime=True, standalone=False)
    instance = ManagedRuntime(root=agent.managed_runtime_dir, state=agent.managed_state_dir)
    assert unprepared(agent) is None
    Path(instance.network_dir).mkdir(parents=True)
    Path(instance.network_file).write_text(network.render(instance, host, "10.88.0.0/16"))
    Path(instance.tasks, "c1").mkdir(parents=True)
    (found,) = runtime(agent, running=False)
    assert found.text == "pods that run have addresses of 10.88.0.0/16, and a cluster gives each node another one"
    assert found.remedy.startswith("end them (`supervise reset`, or remove their manifests")


def test_a_managed_runtime_for_which_programs_are_missing_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def look(root: str) -> None:
        raise MissingPrograms({"runc": "runc", "ip": "iproute2"})

    monkeypatch.setattr(runtime_checks, "look", look)
    (found,) = runtime(Agent(managed_runtime=True), running=False)
    assert (found.level, found.remedy) == (Level.FAILURE, "apt-get install iproute2 runc")
    assert found.text == "a managed container runtime needs runc, ip, not found here"
