"""`supervise describe pod`: names that are no pod's, and pods without an agent."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest

from actors.agent.inspection import describe_command
from actors.agent.inspection.describe_command import _of_actor
from actors.agent.inspection.event_log import EventsInLog
from actors.agent.inspection.node_pods import NodePods
from actors.agent.inspection.node_view import NodeSight
from actors.api_clients.event_client.messages import RecentEvents
from supervision.cli.agent_files import AgentFiles
from supervision.cli.command import NOT_RUNNING, CommandError, Context
from supervision.protocol import ActorState, Tree


def test_the_name_of_an_actor_is_answered_with_what_shows_it() -> None:
    actor = ActorState(name="pod_workers/worker/0", parent="pod_workers", kind="actor", state="running")
    tree = Tree(pid=1, uptime=1.0, state="ready", actors=[actor])
    assert "`supervise tree worker/0`" in _of_actor("worker/0", tree)
    assert _of_actor("orker/0", tree) == ""
    assert _of_actor("web", tree) == ""


def test_without_an_agent_the_log_is_read_once_for_all_pods(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pods = [
        {"metadata": {"name": name, "namespace": "default", "uid": name}, "spec": {"containers": []}, "status": {}}
        for name in ("one", "two")
    ]
    seen = NodeSight(NodePods(pods, by_runtime=True), error=CommandError(NOT_RUNNING, "no agent runs"))
    reads: list[str] = []

    def read(*_: object) -> EventsInLog:
        reads.append("log")
        return EventsInLog(RecentEvents([], 5.0), "agent.log")

    monkeypatch.setattr(describe_command, "view", lambda _: seen)
    monkeypatch.setattr(describe_command, "events_in_log", read)
    arguments = Namespace(name="", namespace="", watch=False, output="text", timeout=1.0)
    files = AgentFiles(tmp_path, tmp_path / "incidents")
    assert describe_command.describe(Context(arguments, lambda _: files)) == NOT_RUNNING
    shown = capsys.readouterr().out
    assert "one" in shown
    assert "two" in shown
    assert shown.count("no events in the log") == 2
    assert reads == ["log"]
