"""The agent itself: its tree, the pods that it runs, and the manifests that it refuses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from actors.agent.inspection.node_pods import full_name
from actors.agent.inspection.pod_rows import readiness, state
from actors.pod_config.messages import Sources
from supervision.cli.status import line
from supervision.protocol import ActorState, Tree

from .finding import Finding, failure, ok, warning

SILENT_SECONDS: Final = 5.0
"""An actor sends a heartbeat every two seconds."""
RECENT_SECONDS: Final = 600
_ENDED: Final = ("Completed", "Succeeded", "Terminating")


def tree(found: Tree | None, root_dir: str) -> Iterator[Finding]:
    """None: no agent runs."""
    if found is None:
        yield failure("agent", "not running", f"supervise start --root-dir {root_dir}")
        return
    ill = [line(actor) for actor in found.actors if actor.state != "running"]
    if ill:
        yield failure("agent", f"{found.state}: {'; '.join(ill)}", "supervise incidents --full")
        return
    concerns = [*_silent(found.actors), *_replaced(found.actors)]
    yield from concerns
    if not concerns:
        yield ok("agent", f"{found.state}, {len(found.actors)} actors in service")


def _silent(actors: Sequence[ActorState]) -> Iterator[Finding]:
    """Actors that hang, and are not replaced yet."""
    for actor in actors:
        if actor.kind != "program" and actor.heartbeat_age > SILENT_SECONDS:
            text = f"{actor.name} hangs: no heartbeat for {actor.heartbeat_age:.0f} s; its supervisor replaces it"
            yield warning("agent", text, f"wait, then: supervise incidents {actor.name} --full")


def _replaced(actors: Sequence[ActorState]) -> Iterator[Finding]:
    """Actors that failed lately, and are in service again."""
    for actor in actors:
        if actor.last_incident and actor.incident_age < RECENT_SECONDS:
            text = f"{actor.name} was replaced: {actor.last_incident}, {actor.restarts} restarts in all"
            yield warning("agent", text, f"supervise incidents {actor.name} --full")


def pods(found: Sequence[dict[str, Any]]) -> Iterator[Finding]:
    """Pods, as API objects, that neither run nor have ended well."""
    ill = 0
    for pod in found:
        word, (ready, wanted) = state(pod), readiness(pod)
        if word in _ENDED or (word == "Running" and ready == wanted):
            continue
        ill += 1
        text = f"{full_name(pod)}: {word}, {ready} of {wanted} containers ready"
        yield warning("pods", text, f"supervise describe pod {full_name(pod)}")
    if not ill:
        yield ok("pods", f"{len(found)}, all of them well")


def manifests(sources: Sources) -> Iterator[Finding]:
    errors = [error for source in sources.sources for error in source.errors]
    waiting = [source.name for source in sources.sources if not source.ready]
    if waiting:
        text = f"not read yet: {', '.join(waiting)}; until then no pod is removed"
        yield warning("manifests", text, "supervise logs pod_config")
    for error in errors:
        yield warning("manifests", error, "mend the file; the agent reads it again by itself")
    if not errors and not waiting:
        yield ok("manifests", f"{sum(source.pods for source in sources.sources)} pods, none refused")
