"""A frame of `supervise top`: lines of styled pieces that fit the terminal. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from ..protocol import ActorState, Tree
from .health import state_of_actors, symptom
from .text import branches, duration, size
from .top_keys import HELP, TopView, fault_lines, question, scrolled, selected
from .tree import figures

Piece = tuple[str, str]
"""(style, text). Styles: none, good, warning, bad, title, dim, chosen."""
Line = list[Piece]
_RECENT_SECONDS: Final = 600.0
_BUSY_CPU, _FULL_CPU = 50.0, 90.0
_STATE_STYLES: Final = {"running": "good", "starting": "warning", "stopping": "warning"}


class Row(NamedTuple):
    """An actor's row."""

    label: str
    """Its name, as drawn."""
    actor: ActorState
    cpu: float
    """Percent of one processor."""
    messages: float
    """Handled in a second."""


class Column(NamedTuple):
    header: str
    value: Callable[[Row], str]
    weight: int
    """On a narrow terminal the column with the highest number is left out first."""
    style: Callable[[Row], str] = lambda row: ""
    sort: str = ""
    """The name of the sort."""


def state_style(row: Row) -> str:
    """The style of a cell in the column STATE."""
    if symptom(row.actor):
        return "bad"
    return _STATE_STYLES.get(row.actor.state, "bad")


def _state(row: Row) -> str:
    return symptom(row.actor) or row.actor.state


def _work(row: Row) -> str:
    actor = row.actor
    return f"{actor.message.rpartition('.')[2]} {duration(actor.busy_seconds)}" if actor.message else "-"


def _cpu_style(row: Row) -> str:
    return "bad" if row.cpu >= _FULL_CPU else "warning" if row.cpu >= _BUSY_CPU else ""


def _restart_style(row: Row) -> str:
    recent = row.actor.last_incident and row.actor.incident_age < _RECENT_SECONDS
    return "warning" if row.actor.restarts and recent else ""


COLUMNS: Final = (
    Column("NAME", lambda row: row.label, 0, sort="name"),
    Column("PID", lambda row: str(row.actor.pid or "-"), 6),
    Column("STATE", _state, 1, state_style),
    Column("CPU%", lambda row: f"{row.cpu:.1f}", 2, _cpu_style, "cpu"),
    Column("MSG/S", lambda row: f"{row.messages:.1f}", 4, sort="messages"),
    Column("MEMORY", lambda row: size(row.actor.memory_bytes), 3, sort="memory"),
    Column(
        "MAILBOX", lambda row: str(row.actor.mailbox), 8, lambda row: "warning" if row.actor.mailbox else "", "mailbox"
    ),
    Column("OUT", lambda row: str(row.actor.outgoing), 10),
    Column("UPTIME", lambda row: duration(row.actor.uptime) if row.actor.pid else "-", 7, sort="uptime"),
    Column("RESTARTS", lambda row: str(row.actor.restarts), 5, _restart_style, "restarts"),
    Column("WORK", _work, 9),
)
_ORDER: Final[dict[str, Callable[[Row], float]]] = {
    "cpu": lambda row: -row.cpu,
    "messages": lambda row: -row.messages,
    "memory": lambda row: -row.actor.memory_bytes,
    "mailbox": lambda row: -row.actor.mailbox,
    "restarts": lambda row: -row.actor.restarts,
    "uptime": lambda row: row.actor.uptime,
}
"""The largest value comes first. Exception: the shortest uptime, because that actor was replaced last."""


def rows(tree: Tree, rate: Callable[[ActorState], tuple[float, float]], view: TopView) -> list[Row]:
    """The actors that pass the filter, in the order of the view; as a tree if no filter hides any and the order is
    its."""
    as_tree = view.sort == "tree" and not view.filter
    drawn = [Row(label if as_tree else actor.name, actor, *rate(actor)) for label, actor in branches(tree.actors)]
    found = [row for row in drawn if view.filter.lower() in row.actor.name.lower()]
    if view.sort == "name":
        found.sort(key=lambda row: row.actor.name)
    elif view.sort in _ORDER:
        found.sort(key=_ORDER[view.sort])
    return found[::-1] if view.reverse else found


def frame(tree: Tree, found: Sequence[Row], view: TopView, width: int, height: int) -> tuple[list[Line], TopView]:
    """Draw at most `height` lines of at most `width` letters. Returns the scrolled view, too."""
    head: list[Line] = [_headline(tree, view)]
    footer = _footer(view, width)
    if height < len(head) + len(footer) + 3:
        head, footer = [], footer[-max(1, height - 2) :] if _has_text(view) else []
    space = max(1, height - len(head) - len(footer) - 1)
    names = [row.actor.name for row in found]
    view = scrolled(view, names, space)
    if footer and not _has_text(view):
        footer = [_status(view, len(found), space)]
    body = table(found, view, width)
    shown = [body[0], *body[1 + view.offset : 1 + view.offset + space]]
    lines = [*head, *shown, *footer][-height:] if height > 1 else shown[1:2] or shown
    return [cut(line, width) for line in lines], view


def table(found: Sequence[Row], view: TopView, width: int) -> list[Line]:
    """Header and rows, in the columns that fit."""
    cells = {column: [column.value(row) for row in found] for column in COLUMNS}
    widths = {column: max(len(column.header) + 1, *map(len, texts), 0) for column, texts in cells.items()}
    columns = list(COLUMNS)
    while len(columns) > 1 and sum(widths[column] + 1 for column in columns) - 1 > width:
        columns.remove(max(columns, key=lambda column: column.weight))
    mark = "v" if not view.reverse else "^"
    header = [
        (f"{column.header}{mark if column.sort == view.sort else ''}").ljust(widths[column]) for column in columns
    ]
    lines: list[Line] = [[("title", " ".join(header))]]
    place = selected(view, [row.actor.name for row in found])
    for number, row in enumerate(found):
        pieces = [(column.style(row), cells[column][number].ljust(widths[column])) for column in columns]
        if number == place:
            lines.append([("chosen", " ".join(text for _, text in pieces))])
        else:
            lines.append([piece for style, text in pieces for piece in ((style, text), ("", " "))][:-1])
    return lines


def cut(line: Line, width: int) -> Line:
    """The line, cut at the width."""
    left, kept = width, []
    for style, text in line:
        if left > 0:
            kept.append((style, text[:left]))
            left -= len(text)
    return kept


def _headline(tree: Tree, view: TopView) -> Line:
    if view.silence:
        return [("warning", f"no answer; {duration(view.silent_seconds)} ago"), ("", f": {figures(tree)}")]
    state = state_of_actors(tree)
    return [("good" if state == "ready" else "warning", f"actors {state}"), ("", f": {figures(tree)}")]


def _has_text(view: TopView) -> bool:
    """Whether the footer is more than the state of the table."""
    return bool(view.mode != "table" or view.notice or view.silence)


def _footer(view: TopView, width: int) -> list[Line]:
    if view.mode == "question" and view.order is not None:
        return _fold("warning", question(view.order).split(), " ", width)
    if view.mode == "faults":
        parts = [f"fault for {view.selected or 'the first'}:", *fault_lines(), "Esc: none"]
        return _fold("warning", parts, "  ", width)
    if view.mode == "filter":
        return [[("warning", f"show names with: {view.filter}_")]]
    if view.mode == "help":
        return [[("", text)] for text in HELP]
    if text := view.notice or view.silence:
        return _fold("warning", text.split(), " ", width)
    return [_status(view, 0, 0)]


def _status(view: TopView, count: int, space: int) -> Line:
    """The last line of the table: which of its rows are shown, then the keys, which a narrow terminal cuts."""
    filtered = f"names with {view.filter} only  " if view.filter else ""
    last = min(count, view.offset + space)
    place = f"{view.offset + 1}-{last} of {count}  " if count > space else ""
    order = f"by {view.sort}{' (turned round)' if view.reverse else ''}"
    return [
        ("warning", filtered),
        ("", place),
        ("dim", f"q quit  h help  s sort  / filter  K kill  i inject  {order}"),
    ]


def _fold(style: str, parts: Sequence[str], gap: str, width: int) -> list[Line]:
    """The parts in as few lines as the width allows; a part stays whole."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + len(gap) + len(part) <= width:
            lines[-1] += gap + part
        else:
            lines.append(part)
    return [[(style, line)] for line in lines]
