"""The named health checks of the node server: ping, log, syncloop; and their report as text. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from supervision.protocol import Tree

from .sync_loop import SyncLoop


def results(tree: Tree | None, sync_loop: SyncLoop) -> dict[str, str]:
    """Each check by its name with its failure, '' when it is well."""
    return {"ping": "", "log": "", "syncloop": sync_loop.failure(tree)}


def report(found: Mapping[str, str], excluded: Iterable[str], *, verbose: bool) -> tuple[bool, str]:
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
