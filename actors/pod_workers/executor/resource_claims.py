"""The resource claims of a pod: its devices by dynamic resource allocation."""

from __future__ import annotations

from typing import Final

from actors.device_manager.messages import (
    DEVICE_MANAGER,
    ClaimsFailed,
    ClaimsPrepared,
    ClaimsUnprepared,
    PrepareClaims,
    UnprepareClaims,
)
from actors.pod_workers.errors import StartFailed
from actors.pod_workers.phases.effects import Unprepare
from actors.pod_workers.pod.results import Unprepared
from actors.shared.kube.resource_claims import has_claims
from supervision.actor import AskError

from .execution import Execution

DRIVER_SECONDS: Final = 100.0
"""Seconds. A driver has 45 s, and may first handle another pod's call for a shared claim."""
FAILED_TO_PREPARE: Final = "FailedPrepareDynamicResources"


async def prepare(run: Execution) -> None:
    """Prepare the claims before a sandbox is made. Raises StartFailed, EffectInterrupted."""
    if not has_claims(run.pod):
        return
    question = PrepareClaims(run.state.uid, run.state.wanted.data)
    try:
        answer = await run.unless_terminating(run.ask(DEVICE_MANAGER, question, DRIVER_SECONDS))
    except AskError as error:
        raise _start_failed(f"prepare dynamic resources: {error}") from None
    if not isinstance(answer, ClaimsPrepared):
        raise _start_failed(answer.message if isinstance(answer, ClaimsFailed) else f"{type(answer).__name__}")


def _start_failed(why: str) -> StartFailed:
    return StartFailed(FAILED_TO_PREPARE, f"Failed to prepare dynamic resources: {why}")


async def unprepare(run: Execution, effect: Unprepare) -> None:
    """Raises AskError."""
    answer = await run.ask(DEVICE_MANAGER, UnprepareClaims(run.state.uid), DRIVER_SECONDS)
    if isinstance(answer, ClaimsUnprepared):
        run.report(Unprepared())
        return
    run.failed(answer.message if isinstance(answer, ClaimsFailed) else type(answer).__name__)
