"""`supervise top`: the tree, refreshed, with processor time and messages a second; with keys on a terminal."""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from typing import Any, Final

import msgspec

from ..process_stat import cpu_seconds
from ..protocol import ActorState, Done, Inject, Tree
from .command import OK, CommandError, Context
from .document import YAML, document_text
from .text import narrow_table, terminal_columns
from .top_frame import COLUMNS, frame, rows
from .top_keys import TopView, press
from .tree import headline

_WINDOW_SECONDS: Final = 5.0
"""Rates are averaged over this time, because the kernel counts processor time in hundredths of a second."""


class TreeSample:
    """The tree at one moment, with the processor seconds used by each process."""

    def __init__(self, tree: Tree, at: float) -> None:
        self.tree, self.at = tree, at
        self.cpu = {actor.pid: cpu_seconds(actor.pid) for actor in tree.actors if actor.pid}
        self.handled = {actor.pid: actor.handled for actor in tree.actors}


class Samples:
    """The samples of the last seconds."""

    def __init__(self) -> None:
        self._samples: deque[TreeSample] = deque()

    def add(self, sample: TreeSample) -> None:
        self._samples.append(sample)
        while len(self._samples) > 2 and sample.at - self._samples[1].at >= _WINDOW_SECONDS:
            self._samples.popleft()

    @property
    def tree(self) -> Tree:
        """The newest one."""
        return self._samples[-1].tree

    @property
    def at(self) -> float:
        """When that was taken (CLOCK_MONOTONIC seconds)."""
        return self._samples[-1].at

    def rate(self, actor: ActorState) -> tuple[float, float]:
        """(share of a processor in percent, messages handled a second), since the oldest sample with the process, or
        since its start if only the newest sample has it."""
        new = self._samples[-1]
        old = next((one for one in self._samples if actor.pid in one.cpu), new)
        return rates(old, new, actor)


def rates(old: TreeSample, new: TreeSample, actor: ActorState) -> tuple[float, float]:
    """(share of a processor in percent, messages handled a second) of a process between the two samples, or since
    its start if both are the same sample."""
    pid = actor.pid
    if pid not in new.cpu:
        return 0.0, 0.0
    if old is new:
        return (100 * new.cpu[pid] / actor.uptime, new.handled[pid] / actor.uptime) if actor.uptime > 0 else (0.0, 0.0)
    seconds = new.at - old.at
    if pid not in old.cpu or seconds <= 0:
        return 0.0, 0.0
    return 100 * (new.cpu[pid] - old.cpu[pid]) / seconds, (new.handled[pid] - old.handled[pid]) / seconds


def run(context: Context) -> int:
    if sys.stdout.isatty() and sys.stdin.isatty() and os.environ.get("TERM", "dumb") != "dumb" and not context.form:
        return _with_keys(context)
    arguments, samples, shown = context.arguments, Samples(), 0
    while True:
        samples.add(TreeSample(context.tree(memory=True), time.monotonic()))
        columns = terminal_columns(sys.stdout)
        text = document_text(_data(samples), context.form) if context.form else "\n".join(page(samples, columns))
        print("---\n" * (context.form == YAML) + text, flush=True)  # noqa: T201
        shown += 1
        if arguments.count and shown >= arguments.count:
            return OK
        time.sleep(arguments.interval)


def page(samples: Samples, columns: int = 0) -> list[str]:
    """The lines of one refresh without keys. `columns`: the width of the terminal, 0: no limit."""
    found = rows(samples.tree, samples.rate, TopView())
    cells = [[column.value(row) for column in COLUMNS] for row in found]
    spare = [column.header for column in sorted(COLUMNS, key=lambda column: -column.weight) if column.weight]
    return [headline(samples.tree), "", *narrow_table([column.header for column in COLUMNS], cells, columns, spare)]


def _data(samples: Samples) -> dict[str, Any]:
    measured = {actor.name: samples.rate(actor) for actor in samples.tree.actors}
    return {
        "tree": samples.tree,
        "rates": {
            name: {"cpu_percent": round(cpu, 2), "messages_per_second": round(messages, 2)}
            for name, (cpu, messages) in measured.items()
        },
    }


def _with_keys(context: Context) -> int:
    from .top_screen import opened

    arguments, samples, view = context.arguments, Samples(), TopView()
    # without an agent, report that before the screen starts
    samples.add(TreeSample(context.tree(memory=True), time.monotonic()))
    refreshes, due = 1, time.monotonic() + arguments.interval
    with opened() as screen:
        while True:
            found = rows(samples.tree, samples.rate, view)
            lines, view = frame(samples.tree, found, view, *screen.size)
            screen.show(lines)
            if arguments.count and refreshes >= arguments.count:
                return OK
            for key in screen.keys(due - time.monotonic()):
                names = [row.actor.name for row in rows(samples.tree, samples.rate, view)]
                view, order, ends = press(view, key, names)
                if ends:
                    return OK
                if order is not None:
                    view = _with_notice(view, _carried_out(context, order))
            if time.monotonic() >= due:
                refreshes, due = refreshes + 1, time.monotonic() + arguments.interval
                view = refreshed(context, samples, view)


def refreshed(context: Context, samples: Samples, view: TopView) -> TopView:
    """Ask the agent. While it has ended or hangs, the view keeps the last tree, and says so."""
    try:
        samples.add(TreeSample(context.tree(memory=True), time.monotonic()))
    except CommandError as error:
        age = time.monotonic() - samples.at
        return msgspec.structs.replace(view, silence=str(error), silent_seconds=age)
    return msgspec.structs.replace(view, silence="", silent_seconds=0.0)


def _with_notice(view: TopView, text: str) -> TopView:
    return msgspec.structs.replace(view, notice=text)


def _carried_out(context: Context, order: Inject) -> str:
    """Give the order; return its outcome as text."""
    try:
        done = context.ask(order, Done)
    except CommandError as error:
        return str(error)
    return done.error or f"{order.fault} injected into {order.name}"
