"""The disk of the running agent hangs: who waits for it keeps its process, the others go on, and none is to blame."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from supervision.cli.health import decide
from supervision.errors import AskError
from supervision.message import Message
from supervision.protocol import FORK_SERVER, GetTree, Tree, Trouble
from tests.support.fork_server_process import ForkServerProcess, fork_server_running
from tests.support.hung_mount import hung_mount, is_possible
from tests.support.tree_actors import QUICK, Do, Said, Say

pytestmark = [pytest.mark.tree, pytest.mark.skipif(not is_possible(), reason="needs root and /dev/fuse")]
ON_DISK = "tests.support.tree_actors:on_disk"
LOOK = Do("look at the disk")


def troubles(agent: ForkServerProcess) -> list[Trouble]:
    return [one for one in agent.ask(GetTree(), Tree).troubles if one.service == "disk"]


def wait_held(agent: ForkServerProcess, *names: str) -> None:
    """Until they wait, for longer than any silence is allowed."""
    agent.wait(lambda: any(", ".join(names) in one.text for one in troubles(agent)), f"{names} wait for the disk")
    allowed = 3 * QUICK.heartbeat_seconds
    agent.wait(lambda: all(agent.tree()[name].heartbeat_age > allowed for name in names), "much more than a silence")


def tell(agent: ForkServerProcess, name: str, message: Message) -> None:
    with suppress(AskError):  # it has no answer
        agent.ask(message, Said, name, timeout=0.2)


def incidents(agent: ForkServerProcess) -> list[str]:
    file = agent.run_dir.parent / "incidents"
    return file.read_text().splitlines() if file.exists() else []


def answers(agent: ForkServerProcess, name: str) -> bool:
    return agent.ask(Say("there?"), Said, name).text == "there?"


def test_actors_that_wait_for_the_disk_keep_their_processes_and_go_on_when_it_answers(tmp_path: Path) -> None:
    with fork_server_running(ON_DISK, tmp_path / "run") as agent:
        before = agent.tree()
        with hung_mount(tmp_path / "state"):
            for name in ("user", "other"):
                tell(agent, name, LOOK)
            wait_held(agent, "other", "user")
            (trouble,) = troubles(agent)
            assert trouble.text.startswith(f"{tmp_path}/state: the disk does not answer")
            assert (trouble.actor, bool(trouble.remedy)) == (FORK_SERVER, True)
            assert answers(agent, "echo")
            said = {reason.subject: reason for reason in decide(agent.ask(GetTree(), Tree)).reasons}
            assert "nobody is replaced while the disk hangs" in said["user"].text
            assert {said[name].remedy for name in ("user", "other", "disk")} == {trouble.remedy}
        agent.wait(lambda: answers(agent, "user") and answers(agent, "other"), "they answer again")
        agent.wait(lambda: not troubles(agent), "no disk hangs")
        assert {name: one.pid for name, one in agent.tree().items()} == {name: one.pid for name, one in before.items()}
        assert incidents(agent) == []
        tell(agent, "user", LOOK)
        assert answers(agent, "user")


def test_an_actor_that_starts_while_the_disk_hangs_is_given_the_time(tmp_path: Path) -> None:
    with fork_server_running(ON_DISK, tmp_path / "run") as agent:
        with hung_mount(tmp_path / "state"):
            agent.kill("user")
            agent.wait(lambda: any("user" in one.text for one in troubles(agent)), "it waits for the disk")
            late = 3 * QUICK.start_seconds
            agent.wait(lambda: agent.tree()["user"].uptime > late, "much more than a start may take")
            assert (agent.tree()["user"].state, agent.tree()["user"].incarnation) == ("starting", 2)
        agent.wait_running("user", incarnation=2)
        assert agent.tree()["user"].incarnation == 2


def test_an_actor_that_holds_its_loop_is_replaced_also_while_the_disk_hangs(tmp_path: Path) -> None:
    with fork_server_running(ON_DISK, tmp_path / "run") as agent, hung_mount(tmp_path / "state"):
        tell(agent, "echo", Do("busy", 600))
        agent.wait_running("echo", incarnation=2)
        assert any('"hang"' in line for line in incidents(agent))
