"""`supervise incidents`: the incident record, read from its file; works without a running agent."""

from __future__ import annotations

import sys
from pathlib import Path

from ..incidents import Incident, read
from .command import OK, REFUSED, CommandError, Context
from .text import duration, table

HEADER = ("TIME", "ACTOR", "CAUSE", "WORK", "UPTIME", "BACK AFTER")
_MOST = 100


def run(context: Context) -> int:
    arguments = context.arguments
    path = Path(context.arguments.file) if context.arguments.file else incident_file(context)
    try:
        reading = read(path)
    except OSError as error:
        raise CommandError(REFUSED, f"{path} cannot be read: {error.strerror}") from None
    found = [i for i in reading.incidents if not arguments.actor or _is_of(i.actor, arguments.actor)]
    found = found[-arguments.lines :] if arguments.lines else found
    if reading.damaged:
        print(f"supervise: {reading.damaged} damaged lines of {path} skipped", file=sys.stderr)  # noqa: T201
    text = "\n".join(_full(found) if arguments.full else table(HEADER, [_row(i) for i in found]))
    context.show(found, text if found else f"no incidents in {path}")
    return OK


def incident_file(context: Context) -> Path:
    """The path that the running agent reports, else the default path."""
    try:
        reported = context.tree().incident_file
    except CommandError:
        reported = ""
    return Path(reported) if reported else context.where.incident_file


def _is_of(name: str, wanted: str) -> bool:
    """The actor, or one below it; the end of its name is enough, as no tree need be there to complete it."""
    return f"/{wanted}/" in f"/{name}/"


def _row(incident: Incident) -> tuple[str, ...]:
    summary = incident.summary
    return (
        incident.time,
        f"{incident.actor}#{incident.incarnation}",
        summary if len(summary) <= _MOST else summary[: _MOST - 3] + "...",
        incident.message.rpartition(".")[2] or "-",
        duration(incident.uptime_seconds),
        "-" if incident.restart_seconds is None else duration(incident.restart_seconds),
    )


def _full(incidents: list[Incident]) -> list[str]:
    header, *rows = table(HEADER, [_row(incident) for incident in incidents])
    lines = [header]
    for row, incident in zip(rows, incidents, strict=True):
        lines += [row, *(f"    {line}" for line in incident.detail.splitlines())]
    return lines
