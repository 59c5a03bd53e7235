"""The events that an agent has logged."""

from __future__ import annotations

import json
import logging
from argparse import Namespace
from pathlib import Path
from typing import Literal

import pytest

from actors.agent.inspection.event_log import events_in_log, events_of
from actors.api_clients.event_client.event_history import EventHistory
from actors.api_clients.event_client.event_text import log_text
from actors.api_clients.event_client.messages import EVENT_CLIENT, RecordEvent
from supervision.cli.agent_files import AgentFiles, LastStart
from supervision.cli.command import NOT_RUNNING, CommandError, Context
from supervision.logs import JsonFormatter, KlogFormatter

NOW = 1_800_000_000.0


def line(form: str, level: int, reason: str, message: str, at: float = NOW, field: str = "", count: int = 1) -> str:
    """As EventClient.on_event logs it."""
    kind: Literal["Normal", "Warning"] = "Warning" if level == logging.WARNING else "Normal"
    event = RecordEvent(
        kind="Pod", namespace="shop", name="web", type=kind, reason=reason, message=message, field=field
    )
    text = log_text(EventHistory().add(event, at, count))
    record = logging.LogRecord(EVENT_CLIENT, level, "/a/actor.py", 7, "%s", (text,), None)
    record.created = at
    return (KlogFormatter() if form == "text" else JsonFormatter()).format(record)


@pytest.mark.parametrize("form", ["text", "json"])
def test_events_are_read_from_the_lines_of_either_format(form: str) -> None:
    other = line(form, logging.INFO, "x", "y").replace(EVENT_CLIENT, "pleg")
    lines = [
        "a traceback",
        other,
        line(form, logging.INFO, "Pulled", 'image "busybox": pulled\nin 2 s', NOW - 60, "spec.containers{main}"),
        line(form, logging.WARNING, "BackOff", "it ends", NOW - 40),
        line(form, logging.WARNING, "BackOff", "it ends", NOW - 20),
    ]
    found = events_of(lines, NOW)
    pulled, back_off = found.events
    assert (pulled.kind, pulled.namespace, pulled.name, pulled.type) == ("Pod", "shop", "web", "Normal")
    assert (pulled.reason, pulled.field) == ("Pulled", "spec.containers{main}")
    assert pulled.message == 'image "busybox": pulled\nin 2 s'
    assert (back_off.type, back_off.count, back_off.first, back_off.last) == ("Warning", 2, NOW - 40, NOW - 20)
    assert found.since == NOW - 60


def test_the_count_of_an_event_is_that_of_its_last_line_and_grows_over_a_restart_of_the_agent() -> None:
    lines = [line("text", logging.WARNING, "Unhealthy", "m", NOW - 60 + n, count=n) for n in (1, 2, 4, 8)]
    (found,) = events_of(lines, NOW).events
    assert (found.count, found.first) == (8, NOW - 59)
    (found,) = events_of([*lines, line("text", logging.WARNING, "Unhealthy", "m")], NOW).events
    assert (found.count, found.last) == (9, NOW)


def context(directory: Path, last: LastStart | None) -> Context:
    files = AgentFiles(directory, directory / "incidents", last_start=lambda: last)
    return Context(Namespace(output="text", timeout=1.0), lambda _: files)


def test_without_an_agent_the_log_of_the_last_start_is_read(tmp_path: Path) -> None:
    log = tmp_path / "agent.log"
    log.write_text(line("text", logging.INFO, "Started", "m") + "\n")
    last = LastStart((), "", str(log))
    events, name = events_in_log(context(tmp_path, last), None, CommandError(NOT_RUNNING, "none runs"))
    assert [event.reason for event in events.events] == ["Started"]
    assert name == str(log)


@pytest.mark.parametrize("last", [None, LastStart((), "", ""), LastStart((), "", "/nowhere/agent.log")])
def test_where_no_log_is_known_the_silence_of_the_agent_is_the_error(tmp_path: Path, last: LastStart | None) -> None:
    with pytest.raises(CommandError, match="none runs"):
        events_in_log(context(tmp_path, last), None, CommandError(NOT_RUNNING, "none runs"))


def test_a_line_of_json_that_is_no_object_is_no_event() -> None:
    assert (
        events_of([json.dumps({"logger": EVENT_CLIENT, "ts": NOW * 1000, "msg": "standalone"}), "{"], NOW).events == []
    )


def test_a_line_whose_text_cannot_be_read_is_no_event() -> None:
    broken = line("text", logging.INFO, "Started", "m").replace("Started", "\\x1b", 1)
    assert events_of([broken], NOW).events == []
