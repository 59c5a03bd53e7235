"""`supervise status`: whether the agent is ready, degraded or down, as one line and as the exit code; and why."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Final

import msgspec

from ..protocol import Tree
from .command import NO_ANSWER, NOT_RUNNING, NOT_WELL, OK, CommandError, Context, OtherVersionError
from .health import Reason, TreeHealth, decide
from .signals import stopped_by_signal
from .text import terminal_columns, wrapped
from .tree import figures
from .typed_commands import remedy_as_typed

Others = Callable[[Context, Tree], Iterable[Reason]]
"""Returns the problems that the application knows of, for a running tree. Raises CommandError."""
LAST_START: Final = "last start"
_CODES = {"ready": OK, "degraded": NOT_WELL, "down": NOT_RUNNING}


def run(context: Context, others: Others = lambda context, tree: (), advice: str = "") -> int:
    """The exit code agrees with the first word: 0 ready, 1 degraded, 3 down. `advice`: the last line, unless ready, or
    the error gives the same."""
    try:
        tree = context.tree(memory=True)
    except CommandError as error:
        return _show_unanswered(context, error, advice)
    decided = decide(tree, stopped_by_signal(tree.actors), others(context, tree))
    health = _as_typed(decided, context.arguments.root_dir)
    ill = [actor for actor in tree.actors if actor.state != "running"]
    data = {
        "state": health.state,
        "reasons": health.reasons,
        "pid": tree.pid,
        "uptime": tree.uptime,
        "actors": len(tree.actors),
        "not_running": [{"name": a.name, "state": a.state, "last_incident": a.last_incident} for a in ill],
        "troubles": tree.troubles,
    }
    context.show(data, text(health, tree, advice, terminal_columns(sys.stdout)))
    return _CODES[health.state]


def _show_unanswered(context: Context, error: CommandError, advice: str) -> int:
    """Show why no tree came, and the problems of a start that was refused. Returns the exit code of the error."""
    silent = error.code in (NOT_RUNNING, NO_ANSWER) and not isinstance(error, OtherVersionError)
    state = "down" if silent else "unknown"
    refused = context.files.refused_start() if error.code == NOT_RUNNING else None
    starts = [Reason(LAST_START, f"refused: {problem}") for problem in (refused.problems if refused else ())]
    columns = terminal_columns(sys.stdout)
    lines = [
        f"{state}: {error}",
        *(line for start in starts for line in wrapped(str(start), columns, "      ", "  ")),
        *([advice] if advice and state != "unknown" and refused is None else []),
    ]
    context.show({"state": state, "reasons": [Reason("agent", str(error), down=True), *starts]}, "\n".join(lines))
    return error.code


def text(health: TreeHealth, tree: Tree, advice: str = "", columns: int = 0) -> str:
    """The headline, each reason on its own line, each remedy below the reasons that it is for, and the advice.
    `columns`: the width of the terminal, 0: no limit."""
    groups = groupby(health.reasons, key=lambda reason: reason.remedy)
    reasons = [line for remedy, some in groups for line in _lines(some, remedy, columns)]
    lines = [*wrapped(f"{health.state}: {figures(tree)}", columns, "  ", ""), *reasons]
    return "\n".join([*lines, advice] if advice and health.reasons else lines)


def _lines(reasons: Iterable[Reason], remedy: str, columns: int) -> Iterator[str]:
    """Reasons with one remedy, which may be a command, in one line."""
    for reason in reasons:
        yield from wrapped(str(reason), columns, "      ", "  ")
    if remedy:
        yield f"      -> {remedy}"


def _as_typed(health: TreeHealth, root_dir: str) -> TreeHealth:
    """The same with the commands of the remedies as the user types them."""
    reasons = [
        msgspec.structs.replace(reason, remedy=remedy_as_typed(reason.remedy, root_dir)) if reason.remedy else reason
        for reason in health.reasons
    ]
    return TreeHealth(health.state, reasons)
