"""The events that an agent has logged."""

from __future__ import annotations

import json
import logging
from argparse import Namespace
from pathlib import Path

import pytest

from actors.agent.inspection.event_log import events_in_log, events_of
from actors.api_clients.event_client.messages import EVENT_CLIENT
from supervision.cli.command import NOT_RUNNING, AgentFiles, CommandError, Context, LastStart
from supervision.logs import JsonFormatter, KlogFormatter

NOW = 1_800_000_000.0


def line(form: str, level: int, reason: str, message: str, at: float = NOW, field: str = "") -> str:
    """As EventClient.on_event logs it."""
    text = 'event %s %s %s: "%s" %s'
    record = logging.LogRecord(EVENT_CLIENT, level, "/a/actor.py", 7, text, None, None)
    record.args = ("Pod", "shop/web", reason, message, field)
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
