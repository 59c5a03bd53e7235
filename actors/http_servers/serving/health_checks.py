"""The named checks behind /healthz of the node server: ping, log, syncloop. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from actors.pod_workers.messages import is_pod_worker
from supervision.protocol import Tree

STALE_SECONDS = 60.0
"""A pod worker silent for so long makes `syncloop` fail; its supervisor replaces it in seconds."""


def syncloop(tree: Tree | None) -> str:
    """'' when every pod worker runs; else which does not."""
    if tree is None:
        return "the fork server does not answer"
    workers = [actor for actor in tree.actors if is_pod_worker(actor.name)]
    bad = [actor.name for actor in workers if actor.state != "running" or actor.heartbeat_age > STALE_SECONDS]
    if not workers:
        return "there is no pod worker"
    return f"not running: {', '.join(bad)}" if bad else ""


def results(tree: Tree | None) -> dict[str, str]:
    """Each check by its name with its failure, '' when it is well."""
    return {"ping": "", "log": "", "syncloop": syncloop(tree)}


def report(found: dict[str, str], excluded: Iterable[str], *, verbose: bool) -> tuple[bool, str]:
    """Whether all is well, and the text, as the reference writes it; `found` is name to failure ('' is well)."""
    left_out = set(excluded)
    lines, well = [], True
    for name, failure in found.items():
        if name in left_out:
            lines.append(f"[+]{name} excluded: ok")
        elif failure:
            well = False
            lines.append(f"[-]{name} failed: {failure}")
        else:
            lines.append(f"[+]{name} ok")
    if well and not verbose:
        return True, "ok"
    lines.append("healthz check passed" if well else "healthz check failed")
    return well, "\n".join(lines) + "\n"
