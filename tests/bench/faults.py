"""Each actor killed, and until it is back in service; hung, and until it is replaced."""

from __future__ import annotations

import os
import signal
import time

from supervision.client import Client

from .node import Node, NotInTime

POLL_SECONDS = 0.001
KILL_SECONDS = 15.0
HANG_SECONDS = 40.0
HUNG = ("pleg", "prober", "http_servers/healthz_server", "pod_workers/worker/0")


def kill_each(node: Node) -> dict[str, float]:
    """Seconds from SIGKILL until it, and all below it when it is a supervisor, answers again, by name."""
    client = node.client()
    try:
        return {name: _kill(node, client, name) for name in node.actors() if name != "container_runtime"}
    finally:
        client.close()


def _kill(node: Node, client: Client, name: str) -> float:
    node.wait_whole()
    actors = node.actors()
    down = [one for one in actors if name in (one, "root") or one.startswith(f"{name}/")]
    started_at = time.perf_counter()
    os.kill(actors[name].pid, signal.SIGKILL)
    for one in down:
        while not node.in_service(client, one, actors[one].incarnation):
            if time.perf_counter() - started_at > KILL_SECONDS:
                raise NotInTime(f"{one} back in service after {name} was killed\n{node.last_words()}")
            time.sleep(POLL_SECONDS)
    return time.perf_counter() - started_at


def hang_some(node: Node) -> dict[str, float]:
    """Seconds from SIGSTOP until another incarnation answers, by name; all at the same time."""
    node.wait_whole()
    actors = node.actors()
    client = node.client()
    started_at = time.perf_counter()
    for name in HUNG:
        os.kill(actors[name].pid, signal.SIGSTOP)
    replaced: dict[str, float] = {}
    try:
        while len(replaced) < len(HUNG):
            if time.perf_counter() - started_at > HANG_SECONDS:
                raise NotInTime(f"replaced after they hung: only {sorted(replaced)}\n{node.last_words()}")
            now = node.actors()
            for name in HUNG:
                old = actors[name].incarnation
                new = now[name].incarnation > old and name not in replaced
                if new and node.in_service(client, name, old):
                    replaced[name] = time.perf_counter() - started_at
            time.sleep(0.02)
    finally:
        client.close()
    return replaced
