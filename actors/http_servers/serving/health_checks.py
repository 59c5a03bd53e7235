"""The named health checks of the node server: ping, log, syncloop, device-plugin; and their report as text. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from actors.device_manager.messages import REGISTRATION
from supervision.protocol import Tree

from .sync_loop import SyncLoop

UNAVAILABLE_SECONDS: Final = 30.0
"""Seconds of retries of the device plugin socket during which its check passes; the kubelet retries several times
too."""


def results(tree: Tree | None, sync_loop: SyncLoop) -> dict[str, str]:
    """The failure of each check by its name, '' when it passes."""
    return {"ping": "", "log": "", "syncloop": sync_loop.failure(tree), "device-plugin": _registration_failure(tree)}


def _registration_failure(tree: Tree | None) -> str:
    troubles = tree.troubles if tree is not None else []
    unavailable = any(one.service == REGISTRATION and one.seconds >= UNAVAILABLE_SECONDS for one in troubles)
    return "device plugin registration gRPC server failed and no device plugins can register" if unavailable else ""


def report(found: Mapping[str, str], excluded: Iterable[str], *, verbose: bool) -> tuple[bool, str]:
    """Whether all checks pass, and the kubelet's text. `found`: as `results` returns them."""
    excluded_names = dict.fromkeys(excluded)
    lines, healthy = [], True
    for name, failure in found.items():
        if name in excluded_names:
            lines.append(f"[+]{name} excluded: ok")
        elif failure:
            healthy = False
            lines.append(f"[-]{name} failed: {failure}")
        else:
            lines.append(f"[+]{name} ok")
    unknown = sorted(name for name in excluded_names if name not in found)
    if unknown:
        names = ",".join(f'"{name}"' for name in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
    if healthy and not verbose:
        return True, "ok"
    lines.append("healthz check passed" if healthy else "healthz check failed")
    return healthy, "\n".join(lines) + "\n"
