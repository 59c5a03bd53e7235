"""`supervise top`: the tree, refreshed, with processor time and messages a second. Plain ANSI."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from ..protocol import ActorState, Tree
from .command import OK, Context, json_text
from .text import branches, duration, size, table
from .tree import headline

HEADER = ("NAME", "PID", "STATE", "CPU%", "MSG/S", "MEMORY", "MAILBOX", "OUT", "UPTIME", "RESTARTS", "IN HAND")
_TICKS = os.sysconf("SC_CLK_TCK")
_HOME, _CLEAR_LINE, _CLEAR_BELOW = "\x1b[H", "\x1b[K", "\x1b[J"
_ENTER, _LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_FIRST_SECONDS = 0.2


class Sample:
    """The tree at one moment, with the processor seconds used by each process."""

    def __init__(self, tree: Tree, at: float) -> None:
        self.tree, self.at = tree, at
        self.cpu = {actor.pid: cpu_seconds(actor.pid) for actor in tree.actors if actor.pid}
        self.handled = {actor.pid: actor.handled for actor in tree.actors}


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far, 0 when it is gone."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS


def rates(old: Sample, new: Sample, pid: int) -> tuple[float, float]:
    """(share of a processor in percent, messages handled a second) of a process between the two."""
    if pid not in old.cpu or pid not in new.cpu or new.at <= old.at:
        return 0.0, 0.0
    seconds = new.at - old.at
    return 100 * (new.cpu[pid] - old.cpu[pid]) / seconds, (new.handled[pid] - old.handled[pid]) / seconds


def run(context: Context) -> int:
    arguments = context.arguments
    interactive = sys.stdout.isatty() and not context.json
    old = Sample(context.tree(), time.monotonic())
    time.sleep(min(_FIRST_SECONDS, arguments.interval))
    shown = 0
    if interactive:
        sys.stdout.write(_ENTER)
    try:
        while True:
            new = Sample(context.tree(), time.monotonic())
            _print(old, new, interactive, as_json=context.json)
            shown += 1
            if arguments.count and shown >= arguments.count:
                return OK
            old = new
            time.sleep(arguments.interval)
    finally:
        if interactive:
            sys.stdout.write(_LEAVE)
            sys.stdout.flush()


def page(old: Sample, new: Sample) -> list[str]:
    """The lines of one refresh."""
    drawn = branches(new.tree.actors)
    return [
        headline(new.tree),
        "",
        *table(HEADER, [_row(name, actor, *rates(old, new, actor.pid)) for name, actor in drawn]),
    ]


def _row(name: str, actor: ActorState, cpu: float, messages: float) -> tuple[str, ...]:
    current = f"{actor.message.rpartition('.')[2]} {duration(actor.busy_seconds)}" if actor.message else "-"
    return (
        name,
        str(actor.pid or "-"),
        actor.state,
        f"{cpu:.1f}",
        f"{messages:.1f}",
        size(actor.memory_bytes),
        str(actor.mailbox),
        str(actor.outgoing),
        duration(actor.uptime) if actor.pid else "-",
        str(actor.restarts),
        current,
    )


def _data(old: Sample, new: Sample) -> dict[str, Any]:
    measured = {actor.name: rates(old, new, actor.pid) for actor in new.tree.actors}
    return {
        "tree": new.tree,
        "rates": {
            name: {"cpu_percent": round(cpu, 2), "messages_per_second": round(messages, 2)}
            for name, (cpu, messages) in measured.items()
        },
    }


def _print(old: Sample, new: Sample, interactive: bool, as_json: bool) -> None:
    if as_json:
        print(json_text(_data(old, new)), flush=True)  # noqa: T201
        return
    lines = page(old, new)
    if interactive:
        width, height = os.get_terminal_size()
        text = f"{_CLEAR_LINE}\n".join(line[:width] for line in lines[: height - 1])
        sys.stdout.write(f"{_HOME}{text}{_CLEAR_LINE}{_CLEAR_BELOW}")
        sys.stdout.flush()
    else:
        print("\n".join(lines), flush=True)  # noqa: T201
