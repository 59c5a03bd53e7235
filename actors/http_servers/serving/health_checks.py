"""The named health checks of the node server: ping, log, syncloop; and their report as text. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from supervision.protocol import Tree

from .sync_loop import SyncLoop


def results(tree: Tree | None, sync_loop: SyncLoop) -> dict[str, str]:
    """The failure of each check by its name, '' when it passes."""
    return {"ping": "", "log": "", "syncloop": sync_loop.failure(tree)}


def report(found: Mapping[str, str], excluded: Iterable[str], *, verbose: bool) -> tuple[bool, str]:
    """Whether all checks pass, and the kubelet's text. `found`: as `results` returns them."""
    excluded_names = set(excluded)
    lines, healthy = [], True
    for name, failure in found.items():
        if name in excluded_names:
            lines.append(f"[+]{name} excluded: ok")
        elif failure:
            healthy = False
            lines.append(f"[-]{name} failed: {failure}")
        else:
            lines.append(f"[+]{name} ok")
    if healthy and not verbose:
        return True, "ok"
    lines.append("healthz check passed" if healthy else "healthz check failed")
    return healthy, "\n".join(lines) + "\n"
