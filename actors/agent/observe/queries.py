"""The page's queries: they ask the agent as every other command does, and read its record of incidents."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from actors.agent.inspection import event_rows, pod_rows
from actors.agent.inspection.questions import node_pods, pod_worker, workers_of
from actors.api_clients.event_client.messages import EVENT_CLIENT, GetRecentEvents, RecentEvents
from supervision.cli.answers import Answers
from supervision.cli.command import CommandError, Context
from supervision.cli.health import Reason, decide
from supervision.cli.incidents import incident_file, unwritten
from supervision.cli.signals import stopped_by_signal
from supervision.cli.top import TreeSample, rates
from supervision.cli.typed_commands import remedy_as_typed
from supervision.faults import EXPLAINED
from supervision.incidents.incident import Incident, read
from supervision.protocol import GetMessageFlow, MessageFlowCounts, Tree

from .message_rates import MessageRates

MOST_INCIDENTS: Final = 200
MOST_EVENTS: Final = 200
FLOW_SECONDS: Final = 1.0
"""Seconds for one actor to report its received messages."""
QUERIES_AT_ONCE: Final = 8
Others = Callable[[Context, Tree], Iterable[Reason]]


class AgentQueries:
    """Asks one agent. Everything blocks, and raises CommandError when the answer does not come."""

    def __init__(self, context: Context, others: Others, *, read_only: bool) -> None:
        """`others`: the reasons of `supervise status` beyond the tree. `read_only`: the page offers no faults."""
        self._context, self._others, self._read_only = context, others, read_only
        self._last: TreeSample | None = None
        self._message_rates = MessageRates()

    def tree(self) -> dict[str, Any]:
        """The tree, and what each process used since the last call (nothing for the first)."""
        now = TreeSample(self._context.tree(memory=True), time.monotonic())
        last, self._last = self._last or now, now
        measured = {actor.name: rates(last, now, actor) for actor in now.tree.actors}
        return {
            "tree": now.tree,
            "rates": {name: {"cpu": cpu, "messages": messages} for name, (cpu, messages) in measured.items()},
            "faults": {} if self._read_only else EXPLAINED,
        }

    def health(self) -> dict[str, Any]:
        """The answer of `supervise status`."""
        tree = self._context.tree()
        health = decide(tree, stopped_by_signal(tree.actors), self._others(self._context, tree))
        root_dir = self._context.arguments.root_dir
        return {
            "state": health.state,
            "reasons": [{"text": str(one), "remedy": remedy_as_typed(one.remedy, root_dir)} for one in health.reasons],
        }

    def messages(self) -> dict[str, Any]:
        """Message counts by sender, receiver and type. `problems`: actors that did not report in time."""
        tree = self._context.tree()
        names = [actor.name for actor in tree.actors if actor.pid and actor.kind != "program"]

        def ask(name: str) -> MessageFlowCounts | str:
            try:
                return self._context.ask(GetMessageFlow(), MessageFlowCounts, name=name, timeout=FLOW_SECONDS)
            except CommandError as error:
                return str(error)

        with ThreadPoolExecutor(QUERIES_AT_ONCE) as pool:
            answers = list(pool.map(ask, names))
        problems = [answer for answer in answers if isinstance(answer, str)]
        counts = [answer for answer in answers if not isinstance(answer, str)]
        edges = self._message_rates.add(counts, time.monotonic())
        return {"actors": [actor.name for actor in tree.actors], "edges": edges, "problems": problems}

    def incidents(self) -> list[dict[str, Any]]:
        """The newest of the record, newest last, with those that are not written yet. Raises OSError."""
        found = read(incident_file(self._context)).incidents
        waiting = unwritten(self._context).incidents
        return [_incident(each) for each in [*found, *waiting][-MOST_INCIDENTS:]]

    def pods(self) -> dict[str, Any]:
        """A row for each pod, refused manifests, and actors that did not answer."""
        tree = self._context.tree()
        found, workers, now = node_pods(Answers(self._context, tree)), workers_of(tree), time.time()
        return {
            "header": (*pod_rows.HEADER, *pod_rows.WIDE),
            "rows": sorted(pod_rows.row(pod, now, pod_worker(pod, workers)) for pod in found.pods),
            "refused": found.refused,
            "problems": found.problems,
        }

    def events(self) -> dict[str, Any]:
        """A row for each recent event, newest last."""
        found = self._context.ask(GetRecentEvents(), RecentEvents, name=EVENT_CLIENT).events[-MOST_EVENTS:]
        now = time.time()
        return {"header": event_rows.HEADER, "rows": [event_rows.row(event, now) for event in found]}


def _incident(one: Incident) -> dict[str, Any]:
    return {
        "time": one.time,
        "actor": one.actor,
        "incarnation": one.incarnation,
        "cause": one.cause,
        "summary": one.summary,
        "message": one.message,
        "detail": one.detail,
        "uptime": one.uptime_seconds,
        "restart": one.restart_seconds,
    }
