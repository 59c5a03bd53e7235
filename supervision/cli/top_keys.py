"""The actions of the keys of `supervise top`: a table for each mode, pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Literal, NamedTuple, cast

import msgspec

from ..faults import EXPLAINED, LASTING
from ..protocol import Fault, Inject

SORTS: Final = ("tree", "name", "cpu", "messages", "memory", "mailbox", "restarts", "uptime")
"""Sort keys; the first is the order of the tree."""
FAULTS: Final[tuple[Fault, ...]] = tuple(EXPLAINED)
LASTING_SECONDS: Final = 10.0
"""How long a fault lasts if it does not end the actor."""
PAGE: Final = 10
Mode = Literal["table", "filter", "faults", "question", "help"]


class TopView(msgspec.Struct, frozen=True, kw_only=True):
    """The view: rows, order, filter and selection."""

    mode: Mode = "table"
    sort: str = SORTS[0]
    reverse: bool = False
    filter: str = ""
    """Only actors whose name contains this text are shown."""
    selected: str = ""
    """Name of the selected actor; '' or a name that is not shown selects the first."""
    offset: int = 0
    """Index of the first row that is shown."""
    order: Inject | None = None
    """The order that waits for confirmation."""
    notice: str = ""
    """Outcome of the last order, until the next key."""
    silence: str = ""
    """Why the agent does not answer; the rows are those of its last answer."""
    silent_seconds: float = 0.0
    """The age of that answer."""


class KeyResult(NamedTuple):
    """The outcome of a key."""

    view: TopView
    order: Inject | None = None
    """The order to carry out."""
    quit: bool = False


Handler = Callable[[TopView, Sequence[str]], KeyResult]


def press(view: TopView, key: str, names: Sequence[str]) -> KeyResult:
    """The outcome of one key. `names`: of all rows that pass the filter, in order."""
    view = msgspec.structs.replace(view, notice="")
    if view.mode == "filter":
        return KeyResult(_type_filter(view, key))
    if view.mode == "faults" and key.isdigit() and 1 <= int(key) <= len(FAULTS):
        return KeyResult(_ask_about_fault(view, names, FAULTS[int(key) - 1]))
    handler = _KEYS[view.mode].get(key)
    if handler is None:
        return KeyResult(view if view.mode == "table" else _table(view))
    return handler(view, names)


def selected(view: TopView, names: Sequence[str]) -> int:
    """The index of the selected row; 0 if it is not listed."""
    return names.index(view.selected) if view.selected in names else 0


def scrolled(view: TopView, names: Sequence[str], rows: int) -> TopView:
    """The view, scrolled so that the selected row is visible in `rows` lines."""
    place = selected(view, names)
    lowest, highest = max(0, place - rows + 1), max(0, min(place, len(names) - rows))
    offset = min(max(view.offset, lowest), max(highest, lowest))
    return msgspec.structs.replace(view, offset=offset)


_SEQUENCES: Final = {
    "[A": "up", "[B": "down", "OA": "up", "OB": "down", "[C": "right", "[D": "left", "OC": "right", "OD": "left",
    "[5~": "pageup", "[6~": "pagedown", "[H": "home", "[F": "end", "OH": "home", "OF": "end",
    "[1~": "home", "[4~": "end",
}  # fmt: skip
_CONTROLS: Final = {"\r": "enter", "\n": "enter", "\x7f": "backspace", "\b": "backspace"}
_KEY: Final = re.compile("\x1b([\\[O][0-9;]*[A-Za-z~])|(.)", re.DOTALL)


def keys_of(typed: str) -> Iterator[str]:
    """The keys in what a terminal sent: letters as such, others by name."""
    for match in _KEY.finditer(typed):
        sequence, letter = match.groups()
        if sequence:
            yield _SEQUENCES.get(sequence, "unknown")
        elif letter == "\x1b":
            yield "escape"
        else:
            yield _CONTROLS.get(letter, letter)


def _move_selection(by: int) -> Handler:
    def handler(view: TopView, names: Sequence[str]) -> KeyResult:
        if not names:
            return KeyResult(view)
        place = min(max(selected(view, names) + by, 0), len(names) - 1)
        return KeyResult(msgspec.structs.replace(view, selected=names[place]))

    return handler


def _change_sort(by: int) -> Handler:
    def handler(view: TopView, names: Sequence[str]) -> KeyResult:
        place = (SORTS.index(view.sort) + by) % len(SORTS)
        return KeyResult(msgspec.structs.replace(view, sort=SORTS[place], reverse=False))

    return handler


def _to_mode(mode: Mode) -> Handler:
    return lambda view, names: KeyResult(msgspec.structs.replace(view, mode=mode))


def _table(view: TopView) -> TopView:
    return msgspec.structs.replace(view, mode="table", order=None)


def _ask_about_fault(view: TopView, names: Sequence[str], fault: Fault) -> TopView:
    if not names:
        return _table(view)
    name = names[selected(view, names)]
    order = Inject(name=name, fault=fault, seconds=LASTING_SECONDS if fault in LASTING else 0.0)
    return msgspec.structs.replace(view, mode="question", order=order, selected=name)


def _kill(view: TopView, names: Sequence[str]) -> KeyResult:
    return KeyResult(_ask_about_fault(view, names, "crash"))


def _confirm(view: TopView, names: Sequence[str]) -> KeyResult:
    return KeyResult(_table(view), view.order)


def _without_filter(view: TopView, names: Sequence[str]) -> KeyResult:
    return KeyResult(msgspec.structs.replace(view, filter=""))


def _reverse_sort(view: TopView, names: Sequence[str]) -> KeyResult:
    return KeyResult(msgspec.structs.replace(view, reverse=not view.reverse))


def _type_filter(view: TopView, key: str) -> TopView:
    """The filter while it is typed."""
    if key in ("enter", "escape"):
        return _table(msgspec.structs.replace(view, filter=view.filter if key == "enter" else ""))
    if key == "backspace":
        return msgspec.structs.replace(view, filter=view.filter[:-1])
    return msgspec.structs.replace(view, filter=view.filter + key) if len(key) == 1 and key.isprintable() else view


_QUIT: Handler = lambda view, names: KeyResult(view, quit=True)  # noqa: E731
_KEYS: Final[dict[Mode, dict[str, Handler]]] = {
    "table": {
        "q": _QUIT,
        "up": _move_selection(-1), "k": _move_selection(-1), "down": _move_selection(1), "j": _move_selection(1),
        "pageup": _move_selection(-PAGE), "pagedown": _move_selection(PAGE), " ": _move_selection(PAGE),
        "home": _move_selection(-(2**31)), "g": _move_selection(-(2**31)),
        "end": _move_selection(2**31), "G": _move_selection(2**31),
        "s": _change_sort(1), "right": _change_sort(1), "S": _change_sort(-1), "left": _change_sort(-1),
        "r": _reverse_sort,
        "/": _to_mode("filter"), "escape": _without_filter,
        "K": _kill, "i": _to_mode("faults"), "h": _to_mode("help"), "?": _to_mode("help"),
    },
    "faults": {"q": _QUIT},
    "question": {"y": _confirm, "Y": _confirm},
    "help": {"q": _QUIT},
}  # fmt: skip
HELP: Final = (
    "up, down, k, j   the row before, after", "PgUp, PgDn       ten rows; Home, End: first, last",
    "s, S             sort by the next, the last column", "r                turn the order round",
    "/                show names with a text; Esc: all", "K                kill the actor, after a question",
    "i                inject a fault, after a question", "q, Ctrl-C        quit",
)  # fmt: skip


def question(order: Inject) -> str:
    """The question to confirm an order."""
    lasting = f" for {order.seconds:g} s" if order.seconds else ""
    what = f"kill {order.name}" if order.fault == "crash" else f"inject {order.fault}{lasting} into {order.name}"
    return f"{what}? y: yes, any other key: no"


def fault_lines() -> list[str]:
    """The choice of faults."""
    return [f"{number} {fault}" for number, fault in enumerate(cast("tuple[str, ...]", FAULTS), 1)]
