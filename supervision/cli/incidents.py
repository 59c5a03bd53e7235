"""`supervise incidents`: the incident record, read from its file, which works without a running agent; then what a
running agent could not write to it yet."""

from __future__ import annotations

import errno
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

from ..hanging_disks import require_answer
from ..incidents.incident import GetUnwrittenIncidents, Incident, IncidentHistory, UnwrittenIncidents, read
from ..incidents.incident_file import MAX_BYTES
from ..incidents.spare_incidents import SPARE_NAME, SpareIncidents, incident_id
from ..protocol import FORK_SERVER, Tree
from .argument_types import last_of
from .command import OK, REFUSED, CommandError, Context, like
from .document import YAML, document_text
from .text import duration, plain, table, table_with_texts, terminal_columns
from .tree import is_of

HEADER = ("TIME", "ACTOR", "CAUSE", "WORK", "UPTIME", "BACK AFTER")
_SPARE = ("WORK", "UPTIME", "BACK AFTER")
"""Columns that are left out on a narrow terminal, in this order; -o json has them."""
_MOST = 100
FOLLOW_SECONDS: Final = 1.0
_CAUSE = HEADER.index("CAUSE")


class _Recorded(NamedTuple):
    incidents: Sequence[Incident]
    """Those of the file, then those that could not be written to it."""
    damaged_lines: int
    waiting: UnwrittenIncidents
    """Those of them that the running agent holds in memory."""


def run(context: Context) -> int:
    arguments = context.arguments
    tree = None if arguments.file else _tree(context)
    path = Path(arguments.file) if arguments.file else _path(context, tree)
    recorded = _recorded(context, path, tree)
    if arguments.actor:
        _refuse_unknown(arguments.actor, recorded.incidents, tree)
    wanted = [one for one in recorded.incidents if not arguments.actor or is_of(one.actor, arguments.actor)]
    found = last_of(wanted, arguments.lines)
    _warn_of_gaps(path, recorded)
    none = f"no incidents{f' of {arguments.actor}' if arguments.actor else ''} in {path}"
    if not arguments.follow:
        text = "\n".join(lines(found, terminal_columns(sys.stdout), full=arguments.full))
        context.show(found, text if wanted else none)
        return OK
    if not wanted:
        print(f"supervise: {none}; waiting for one", file=sys.stderr)  # noqa: T201
    return _follow(context, path, recorded.incidents, found)


def _recorded(context: Context, path: Path, tree: Tree | None) -> _Recorded:
    """Raises CommandError if the file cannot be read, or no agent has ever run here."""
    file: str = context.arguments.file
    waiting = unwritten(context) if tree else UnwrittenIncidents()
    try:
        require_answer(path)
        if (file or not tree) and not path.exists():
            _refuse_absent(context, path)
        reading = read(path)
    except TimeoutError as error:
        if tree is None:
            raise _unreadable(context, path, error) from None
        print(f"supervise: {path} cannot be read: {error.strerror}", file=sys.stderr)  # noqa: T201
        reading = IncidentHistory([], 0)
    except OSError as error:
        raise _unreadable(context, path, error) from None
    spare = SpareIncidents(None if tree or file else context.files.run_dir / SPARE_NAME)
    return _Recorded([*reading.incidents, *waiting.incidents, *spare.kept(path)], reading.damaged, waiting)


def _refuse_unknown(actor: str, incidents: Sequence[Incident], tree: Tree | None) -> None:
    """Raises CommandError for a name that neither the tree nor the record has; an empty record refuses none."""
    known = [*(one.name for one in tree.actors), FORK_SERVER] if tree else []
    known += [incident.actor for incident in incidents]
    if known and not any(is_of(name, actor) for name in known):
        text = f"there is no actor {actor}" if tree else f"no incident is of an actor {actor}"
        raise CommandError(REFUSED, f"{text}{like(actor, known, 'tree' if tree else 'incidents')}")


def _warn_of_gaps(path: Path, recorded: _Recorded) -> None:
    """Say on stderr what the file does not hold."""
    if recorded.damaged_lines:
        print(f"supervise: {recorded.damaged_lines} damaged lines of {path} skipped", file=sys.stderr)  # noqa: T201
    waiting = recorded.waiting
    if waiting.incidents and waiting.error:
        text = f"{len(waiting.incidents)} of these wait in the agent's memory, as {path} cannot be written"
        print(f"supervise: {text}: {waiting.error}", file=sys.stderr)  # noqa: T201


def _follow(context: Context, path: Path, known: Sequence[Incident], found: Sequence[Incident]) -> NoReturn:
    """Print those found, then each that comes, until Ctrl-C. `known`: all that are there already."""
    arguments, widths = context.arguments, list[int]()
    seen = {incident_id(one) for one in known}
    while True:
        if context.form:
            for one in found:
                print("---\n" * (context.form == YAML) + document_text(one, context.form))  # noqa: T201
        elif found:
            has_header = bool(widths)
            text = lines(found, terminal_columns(sys.stdout), widths, full=arguments.full)
            print(plain("\n".join(text[1:] if has_header else text)))  # noqa: T201
        sys.stdout.flush()
        time.sleep(FOLLOW_SECONDS)
        try:
            recorded = [*read(path).incidents, *unwritten(context).incidents]
        except FileNotFoundError:
            recorded = []
        except OSError as error:
            raise _unreadable(context, path, error) from None
        fresh = [one for one in recorded if incident_id(one) not in seen]
        seen |= {incident_id(one) for one in fresh}
        found = [one for one in fresh if not arguments.actor or is_of(one.actor, arguments.actor)]


def _unreadable(context: Context, path: Path, error: OSError) -> CommandError:
    hint = f"; try `{context.as_root()}`" if isinstance(error, PermissionError) else ""
    if error.errno == errno.EFBIG:
        hint = f": the agent keeps at most {MAX_BYTES >> 20} MiB in it, so move away what was written by another"
    return CommandError(REFUSED, f"{path} cannot be read: {error.strerror}{hint}")


def incident_file(context: Context) -> Path:
    """The path that the running agent reports, else the default path."""
    return _path(context, _tree(context))


def _path(context: Context, tree: Tree | None) -> Path:
    return Path(tree.incident_file) if tree and tree.incident_file else context.files.incident_file


def _tree(context: Context) -> Tree | None:
    try:
        return context.tree()
    except CommandError:
        return None


def unwritten(context: Context) -> UnwrittenIncidents:
    """The records that the agent could not write yet; empty if it does not answer, for example because it still runs an
    older version after an upgrade."""
    try:
        return context.ask(GetUnwrittenIncidents(), UnwrittenIncidents)
    except CommandError:
        return UnwrittenIncidents()


def _refuse_absent(context: Context, path: Path) -> None:
    """Raises CommandError if the file was named, or no agent has ever run here. Else nothing has failed yet."""
    if context.arguments.file:
        raise CommandError(REFUSED, f"{path} cannot be read: No such file or directory")
    if not path.parent.exists():
        raise context.not_running()


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


def lines(incidents: Sequence[Incident], columns: int, widths: list[int] | None = None, *, full: bool) -> list[str]:
    """A table; `full`: with tracebacks and stacks; `widths`: see `text.table`. If the table is wider than `columns` of
    the terminal (0: no limit), the cause is below each row; if that is too wide, too, spare columns are left out."""
    header, *rows = _table([_row(incident) for incident in incidents], columns, widths)
    details = [[f"    {line}" for line in one.detail.splitlines()] if full else [] for one in incidents]
    return [*header, *(line for row, detail in zip(rows, details, strict=True) for line in (*row, *detail))]


def _table(rows: Sequence[tuple[str, ...]], columns: int, widths: list[int] | None) -> list[list[str]]:
    """The lines of the header and of each row."""
    plain = table(HEADER, rows, widths)
    if not columns or max(map(len, plain)) <= columns:
        return [[line] for line in plain]
    header, *last = [(*row[:_CAUSE], *row[_CAUSE + 1 :], row[_CAUSE]) for row in (HEADER, *rows)]
    known = None if widths is None else [*widths[:_CAUSE], *widths[_CAUSE + 1 :], widths[_CAUSE]]
    return table_with_texts(header, last, columns, known, spare=_SPARE)
