"""`supervise tree`: every actor with its process, as a tree."""

from __future__ import annotations

import sys
from collections.abc import Collection

import msgspec

from ..protocol import FORK_SERVER, ROOT, ActorState, Tree
from .command import OK, Context
from .document import WIDE
from .health import state_of_actors, symptom
from .signals import stopped_by_signal
from .text import branches, duration, narrow_table, size, terminal_columns, wrapped

HEADER = ("NAME", "PID", "STATE", "UPTIME", "RESTARTS", "MEMORY", "MAILBOX", "LAST INCIDENT")
_SPARE = ("MAILBOX", "UPTIME", "MEMORY", "PID", "RESTARTS", "LAST INCIDENT")
"""Columns that are left out on a narrow terminal, in this order."""


def run(context: Context) -> int:
    tree = context.tree(memory=True)
    shown, top = tree.actors, str(FORK_SERVER)
    if context.arguments.actor:
        shown, top = chosen(tree, context.full_name(context.arguments.actor, tree))
    stopped = stopped_by_signal(tree.actors)
    rows = [row(name, actor, stopped) for name, actor in branches(shown, top)]
    columns = 0 if context.arguments.output == WIDE else terminal_columns(sys.stdout)
    first = wrapped(headline(tree, stopped), columns, "  ", "")
    context.show(
        msgspec.structs.replace(tree, actors=shown), "\n".join([*first, *narrow_table(HEADER, rows, columns, _SPARE)])
    )
    return OK


def chosen(tree: Tree, name: str) -> tuple[list[ActorState], str]:
    """The actor and those below it, and the parent of the first."""
    names = {name}
    for actor in tree.actors:  # a supervisor is before its children
        if actor.parent in names:
            names.add(actor.name)
    shown = [actor for actor in tree.actors if actor.name in names]
    return shown, str(shown[0].parent)


def is_of(name: str, wanted: str) -> bool:
    """Whether it is the wanted actor or below it; all are below the root, except the fork server. The end of a name is
    enough: without an agent no tree completes it."""
    return f"/{wanted}/" in f"/{name}/" or (wanted == ROOT and name != FORK_SERVER)


def headline(tree: Tree, stopped: Collection[int] = ()) -> str:
    """The actors and the fork server in one line. It counts only actors, because the node may be degraded for reasons
    that only `status` asks for. `stopped`: pids of processes that a signal has stopped."""
    return f"actors {state_of_actors(tree, stopped)}: {figures(tree)}"


def figures(tree: Tree) -> str:
    """How many are in service, their memory, and the fork server's process."""
    running = sum(actor.state == "running" for actor in tree.actors)
    memory = sum(actor.memory_bytes for actor in tree.actors)
    return (
        f"{running} of {len(tree.actors)} actors in service, {size(memory)} in all, "
        f"fork server pid {tree.pid}, up {duration(tree.uptime)}"
    )


def row(name: str, actor: ActorState, stopped: Collection[int] = ()) -> tuple[str, ...]:
    """`name`: as drawn. `stopped`: pids of processes that a signal has stopped."""
    state: str = actor.state
    if since := "stopped" if actor.pid in stopped else symptom(actor):
        state += f" ({since})"
    return (
        name,
        str(actor.pid or "-"),
        state,
        duration(actor.uptime) if actor.pid else "-",
        str(actor.restarts),
        size(actor.memory_bytes),
        str(actor.mailbox),
        actor.last_incident or "-",
    )
