"""`supervise status`: whether the agent is ready, as one line and as the exit code."""

from __future__ import annotations

from ..protocol import ActorState, Trouble
from .command import NOT_WELL, OK, CommandError, Context
from .text import duration
from .tree import headline


def run(context: Context) -> int:
    try:
        tree = context.tree()
    except CommandError as error:
        context.show(
            {"state": "stopped" if not context.fork_server_pid() else "unknown", "reason": str(error)}, str(error)
        )
        return error.code
    ill = [actor for actor in tree.actors if actor.state != "running"]
    data = {
        "state": tree.state,
        "pid": tree.pid,
        "uptime": tree.uptime,
        "actors": len(tree.actors),
        "not_running": [{"name": a.name, "state": a.state, "last_incident": a.last_incident} for a in ill],
        "troubles": tree.troubles,
    }
    lines = [*map(line, ill), *map(trouble_line, tree.troubles)]
    context.show(data, "\n".join([headline(tree), *(f"  {one}" for one in lines)]))
    return OK if tree.state == "ready" and not tree.troubles else NOT_WELL


def trouble_line(trouble: Trouble) -> str:
    """An outside service that does not answer."""
    return f"{trouble.service}: {trouble.text}, for {duration(trouble.seconds)}"


def line(actor: ActorState) -> str:
    """One actor that is not in service."""
    since = f" for {duration(actor.uptime)}" if actor.pid else ""
    last = f", last incident: {actor.last_incident}" if actor.last_incident else ""
    return f"{actor.name}: {actor.state}{since}{last}"
