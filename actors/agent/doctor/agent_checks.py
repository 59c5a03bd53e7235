"""The agent itself: its tree, and the manifests that it refuses."""

from __future__ import annotations

from collections.abc import Iterator

from actors.pod_config.messages import Sources
from supervision.cli.status import line
from supervision.protocol import Tree

from .finding import Finding, failure, ok, warning


def tree(found: Tree | None, root_dir: str) -> Iterator[Finding]:
    """None: no agent runs."""
    if found is None:
        yield failure("agent", "not running", f"supervise start --root-dir {root_dir}")
        return
    ill = [line(actor) for actor in found.actors if actor.state != "running"]
    if ill:
        yield failure("agent", f"{found.state}: {'; '.join(ill)}", "supervise incidents --full")
    else:
        yield ok("agent", f"{found.state}, {len(found.actors)} actors in service")


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
