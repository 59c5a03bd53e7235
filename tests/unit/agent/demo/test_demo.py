"""The demo's decisions and its demo, with a node that is only told of."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from actors.agent.demo import command, node
from actors.agent.demo.command import Demo, sample
from actors.agent.demo.layout import HEALTHZ_PORT, NODE_PORT, POD, DemoLayout, configuration, flags, log_lines, rendered
from actors.agent.demo.node import DemoNode, DemoRefused
from actors.pod_config.manifests.manifest import Origin, read_manifest
from actors.shared.config.loading import load
from supervision.fork_server.lock import Lock

STAMP = "2026-11-20T10:00:00.000000000Z"


def test_the_configuration_is_one_that_the_agent_accepts(tmp_path):
    layout = DemoLayout(str(tmp_path))
    Path(layout.config).write_text(rendered(configuration(layout, "managed", lambda _: True, lambda: 1)))
    agent = load(flags(layout))
    assert (agent.config.port, agent.config.healthzPort) == (NODE_PORT, HEALTHZ_PORT)
    assert agent.managed_runtime
    assert agent.config.staticPodPath == layout.manifests
    assert agent.cgroup_root == layout.cgroup


def test_ports_of_another_agent_are_left_to_it():
    found = configuration(DemoLayout("/d"), "managed", lambda port: port == HEALTHZ_PORT, lambda: 4711)
    assert (found["healthzPort"], found["port"]) == (HEALTHZ_PORT, 4711)


def test_two_demos_do_not_share_cgroups():
    assert DemoLayout("/a").cgroup != DemoLayout("/b").cgroup


def test_the_output_of_the_container_is_read_from_its_log():
    assert log_lines(f"{STAMP} stdout F hello you\n{STAMP} stdout F \nbroken\n") == ["hello you", ""]


def test_without_root_the_error_names_the_remedy(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["supervise", "demo", "--once"])
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    made = DemoNode(DemoLayout(str(tmp_path / "d")), "managed", sample())
    with pytest.raises(DemoRefused, match="needs root: try `sudo supervise demo --once`"):
        made.check()
    assert Demo(made, io.StringIO()).tell(once=True) == 1
    assert "needs root" in capsys.readouterr().err
    assert not (tmp_path / "d").exists()


def test_a_second_demo_writes_nothing_into_the_directory_of_an_agent_that_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(node, "look", lambda root: None)
    layout = DemoLayout(str(tmp_path))
    (tmp_path / "troupelet").mkdir()
    Path(layout.mark).touch()
    lock = Lock(tmp_path / "troupelet")
    out = io.StringIO()
    assert Demo(DemoNode(layout, "managed", sample()), out).tell(once=True) == 1
    assert not Path(layout.config).exists()
    lock.release()


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user")
def test_a_directory_of_another_user_is_not_touched(tmp_path, monkeypatch):
    monkeypatch.setattr(node, "look", lambda root: None)
    made = DemoNode(DemoLayout(str(tmp_path)), "managed", sample())
    Path(made.layout.mark).touch()
    os.chown(tmp_path, 65534, 65534)
    with pytest.raises(DemoRefused, match="belongs to uid 65534"):
        made.check()


def test_a_directory_with_something_else_in_it_is_not_touched(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(node, "look", lambda root: None)
    made = DemoNode(DemoLayout(str(tmp_path)), "managed", sample())
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(DemoRefused, match="not the demo's: give another --root-dir"):
        made.check()
    Path(made.layout.mark).touch()
    made.check()


class ToldNode:
    """Does what the demo's node does, as far as the demo sees it."""

    def __init__(self, directory: Path) -> None:
        self.layout = DemoLayout(str(directory))
        self.log = directory / "0.log"
        self.running, self.dead, self.in_order = True, False, False
        self.done: list[str] = []
        self.left: list[str] = []

    def check(self) -> None:
        self.done.append("check")

    def start(self) -> None:
        self.done.append("start")
        self.log.write_text(f"{STAMP} stdout F hello\n{STAMP} stdout F half")

    def ended(self) -> bool:
        return self.dead

    def ended_in_order(self) -> bool:
        return self.dead and self.in_order

    def phases(self) -> dict[str, str]:
        return {} if "retire" in self.done else {POD: "Running" if self.running else "Pending"}

    def container_log(self) -> Path:
        return self.log

    def moved_ports(self) -> str:
        return ""

    def log_end(self) -> str:
        return "what the agent said"

    def retire_pod(self) -> None:
        self.done.append("retire")

    def stop(self) -> None:
        self.done.append("stop")

    def remove(self) -> list[str]:
        self.done.append("remove")
        return self.left


@pytest.fixture
def told(tmp_path, monkeypatch) -> ToldNode:
    monkeypatch.setattr(command, "supervise", lambda *words: ["true", *words])
    return ToldNode(tmp_path)


def tell(told: ToldNode) -> tuple[int, str]:
    out = io.StringIO()
    return Demo(told, out).tell(once=True), out.getvalue()  # type: ignore[arg-type]


def test_the_pod_speaks_and_then_everything_is_stopped_in_order(told):
    code, text = tell(told)
    assert code == 0
    assert f"{POD} | hello\n" in text
    assert "half" not in text
    assert told.done == ["check", "start", "retire", "stop", "remove"]
    assert text.endswith("nothing is left\n")


def test_an_agent_that_ends_is_a_failure_with_the_end_of_its_log(told, capsys):
    told.dead = True
    assert tell(told)[0] == 1
    assert "what the agent said" in capsys.readouterr().err
    assert told.done == ["check", "start", "stop", "remove"]


def test_a_stop_of_the_agent_by_another_process_ends_the_demo_in_order(told, capsys):
    def runs_and_is_stopped_after_that() -> dict[str, str]:
        told.dead = told.in_order = True
        return {POD: "Running"}

    told.phases = runs_and_is_stopped_after_that
    code, text = tell(told)
    assert (code, capsys.readouterr().err) == (0, "")
    assert "the agent was stopped, by `supervise stop` or a signal: the demo ends\n" in text
    assert text.endswith("\nremoving everything\nnothing is left\n")
    assert told.done == ["check", "start", "stop", "remove"]


def test_a_stop_of_the_agent_before_the_pod_runs_is_no_failure_either(told, capsys):
    told.dead = told.in_order = True
    assert tell(told)[0] == 0
    assert capsys.readouterr().err == ""


def test_only_an_agent_that_ends_with_0_has_ended_in_order(tmp_path):
    made = DemoNode(DemoLayout(str(tmp_path)), "managed", sample())
    assert not made.ended_in_order()
    for code in (0, 1):
        made.process = subprocess.Popen(["sh", "-c", f"exit {code}"])
        made.process.wait(10)
        assert made.ended_in_order() == (code == 0)


def test_a_pod_that_never_runs_is_a_failure_after_its_deadline(told, capsys, monkeypatch):
    monkeypatch.setattr(command, "RUNNING_SECONDS", 0.2)
    told.running = False
    assert tell(told)[0] == 1
    assert "the sample pod does not run" in capsys.readouterr().err
    assert told.done[-1] == "remove"


def test_the_demo_names_the_commands_that_explain_a_failed_pod(told, capfd, monkeypatch):
    monkeypatch.setattr(command, "RUNNING_SECONDS", 0.2)
    monkeypatch.setattr(command, "supervise", lambda *words: ["echo", "said:", *words])
    told.running = False
    code, text = tell(told)
    assert code == 1
    assert f"$ echo said: describe pod {POD} --root-dir={told.layout.root}\n" in text
    answers = capfd.readouterr().out
    assert f"said: status --root-dir={told.layout.root}\n" in answers
    assert f"said: describe pod {POD} --root-dir={told.layout.root}\n" in answers


def test_a_command_that_does_not_answer_does_not_hold_the_demo_up(told, monkeypatch):
    monkeypatch.setattr(command, "COMMAND_SECONDS", 0.1)
    monkeypatch.setattr(command, "supervise", lambda *words: ["sleep", "60"])
    code, text = tell(told)
    assert code == 0
    assert "does not answer within 0.1 s" in text


def test_remains_that_could_not_be_removed_are_named(told, capsys):
    told.left = ["/mnt/x"]
    assert tell(told)[0] == 1
    assert "could not be removed: /mnt/x" in capsys.readouterr().err


def test_a_signal_while_it_starts_ends_it_in_order(told):
    told.running = False
    demo = Demo(told, io.StringIO())
    told.start = lambda: demo.on_signal(signal.SIGINT, None)
    assert demo.tell(once=False) == 0
    assert told.done == ["check", "retire", "stop", "remove"]


def test_the_sample_is_a_manifest_that_the_agent_accepts():
    (pod,) = read_manifest(sample().read_bytes(), Origin("file", str(sample()), "demo"))
    assert pod.full_name == f"{POD}_default"
