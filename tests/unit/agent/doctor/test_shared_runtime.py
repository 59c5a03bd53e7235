"""The doctor finds another agent on the same container runtime."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.agent.doctor.finding import Level
from actors.agent.doctor.shared_runtime import shared
from actors.shared.config.agent import Agent
from actors.shared.config.start import start_records
from supervision.protocol import Tree


def running(root: Path, endpoint: str) -> Tree:
    """The tree of an agent that has started there."""
    agent = Agent(root_dir=str(root), runtime_endpoint=endpoint)
    Path(agent.state_dir).mkdir(parents=True)
    start_records.note(agent, ())
    return Tree(pid=7, uptime=1.0, state="ready", actors=[], incident_file=f"{agent.state_dir}/incidents.jsonl")


@pytest.mark.parametrize("name", ["containerd.sock", "link.sock"])
def test_an_agent_on_the_same_runtime_is_a_failure_with_the_command_that_stops_it(tmp_path: Path, name: str) -> None:
    (tmp_path / "containerd.sock").touch()
    (tmp_path / "link.sock").symlink_to("containerd.sock")
    other = running(tmp_path / "other", f"unix://{tmp_path}/{name}")
    own = Agent(root_dir=str(tmp_path / "own"), runtime_endpoint=f"unix://{tmp_path}/containerd.sock")
    (found,) = shared(own, [other])
    assert found.level is Level.FAILURE
    assert found.text == f"the agent in {tmp_path}/other, pid 7, has the same one: each ends the pods of the other"
    assert found.remedy.startswith(f"supervise stop --root-dir {tmp_path}/other, or ")


def test_agents_with_runtimes_of_their_own_are_no_finding(tmp_path: Path) -> None:
    other = running(tmp_path / "other", f"unix://{tmp_path}/other.sock")
    unknown = Tree(
        pid=8, uptime=1.0, state="ready", actors=[], incident_file=str(tmp_path / "gone" / "incidents.jsonl")
    )
    own = Agent(root_dir=str(tmp_path / "own"), runtime_endpoint=f"unix://{tmp_path}/own.sock")
    assert list(shared(own, [other, unknown])) == []
