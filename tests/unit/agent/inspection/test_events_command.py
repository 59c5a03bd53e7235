"""What `supervise events` prints."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
import yaml

from actors.agent.inspection import events_command
from actors.agent.inspection.events_command import events
from actors.api_clients.event_client.messages import RecentEvent, RecentEvents
from supervision.cli.document import form_of
from supervision.protocol import Tree


class Asked:
    """A command's context with one event at the agent."""

    def tree(self) -> Tree:
        return Tree(pid=1, uptime=1.0, state="ready", actors=[])

    def __init__(self, message: str) -> None:
        self.arguments = Namespace(
            pod="", of="", namespace="", output="text", watch=False, timeout=1.0, types=(), no_headers=False
        )
        self.event = RecentEvent(
            kind="Pod", namespace="shop", name="web", uid="u", field="", type="Warning", reason="Unhealthy",
            message=message, count=1, first=0.0, last=0.0,
        )  # fmt: skip

    @property
    def form(self) -> str:
        return form_of(self.arguments.output)

    def ask(self, *_: Any, **__: Any) -> RecentEvents:
        return RecentEvents(since=0.0, events=[self.event])


def test_control_characters_of_a_probes_output_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    assert events(Asked("failed: \x1b]52;c;cm0K\x07")) == 0  # type: ignore[arg-type]
    shown = capsys.readouterr().out
    assert "failed: ^[]52;c;cm0K^G" in shown
    assert "\x1b" not in shown


def test_wide_has_the_first_time_and_the_count(capsys: pytest.CaptureFixture[str]) -> None:
    asked = Asked("failed")
    asked.arguments.output = "wide"
    asked.event = msgspec.structs.replace(asked.event, count=7)
    assert events(asked) == 0  # type: ignore[arg-type]
    header, row = capsys.readouterr().out.splitlines()
    assert header.split("  ")[:2] == ["LAST SEEN", "FIRST SEEN"]
    assert row.split()[2:4] == ["7", "Warning"]


@pytest.mark.parametrize(("output", "documents"), [("json", json.JSONDecoder().raw_decode), ("yaml", None)])
def test_a_follower_of_documents_gets_each_once(
    output: str, documents: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Asked("failed")
    asked.arguments.output, asked.arguments.watch = output, True

    def watch(show: Callable[[], object]) -> None:
        show()
        asked.event = msgspec.structs.replace(asked.event, count=2)
        show()

    monkeypatch.setattr(events_command, "watch", watch)
    assert events(asked) == 0  # type: ignore[arg-type]
    text, counts = capsys.readouterr().out, []
    if documents is None:
        counts = [one["count"] for one in yaml.safe_load_all(text)]
    while documents is not None and text:
        one, end = documents(text)
        counts.append(one["count"])
        text = text[end:].lstrip()
    assert counts == [1, 2]


def test_events_of_the_node_are_chosen_by_its_kind(capsys: pytest.CaptureFixture[str]) -> None:
    asked = Asked("m")
    asked.event = msgspec.structs.replace(asked.event, kind="Node", namespace="", name="n1")
    asked.arguments.of = "node/n1"
    assert events(asked) == 0  # type: ignore[arg-type]
    assert "node/n1" in capsys.readouterr().out
    asked.arguments.of, asked.arguments.pod = "", "node"
    assert events(asked) == 0  # type: ignore[arg-type]
    assert "node/n1" in capsys.readouterr().out
    asked.arguments.of = "node/n2"
    asked.arguments.pod = ""
    assert events(asked) == 0  # type: ignore[arg-type]
    text = "no events of node/n2; an agent knows those of its own node only: `supervise events` shows all\n"
    assert capsys.readouterr().out == text


@pytest.mark.parametrize(
    ("types", "namespace", "said"),
    [
        (["Normal"], "", "no Normal events: `supervise events` shows all\n"),
        ([], "attic", "no events of that namespace: `supervise events` shows all\n"),
    ],
)
def test_events_that_there_are_none_of_are_named_as_they_were_asked_for(
    types: list[str], namespace: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = Asked("m")
    asked.arguments.types, asked.arguments.namespace = types, namespace
    assert events(asked) == 0  # type: ignore[arg-type]
    assert capsys.readouterr().out == said


def test_the_times_of_a_document_are_those_of_the_api(capsys: pytest.CaptureFixture[str]) -> None:
    asked = Asked("m")
    asked.arguments.output = "json"
    assert events(asked) == 0  # type: ignore[arg-type]
    (event,) = json.loads(capsys.readouterr().out)
    assert (event["first"], event["last"]) == ("1970-01-01T00:00:00.000Z", "1970-01-01T00:00:00.000Z")
