"""Kills containers that the runtime has not stopped by the deadline of the call, about two minutes after their grace
period.

A shim that hangs (stopped by a signal, or waiting for a disk) neither kills processes nor reports their end, and a
repeated call changes nothing. So the processes are killed through the cgroup of their container. If the runtime still
lists the container as running when none is left, and its shim does not answer, the shim is killed too: containerd then
records the end of all containers of that shim, which is that of the pod. A shim that answers is no reason: containerd
cannot record an end while its disk is full.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Final

from actors.shared.config.endpoints import socket_of
from actors.shared.cri.errors import CriError, NotFound
from actors.shared.cri.model import CriContainer, CriContainerState, Sandbox
from supervision.actor import DisposableError
from supervision.errors import error_text
from supervision.time_scale import scaled

from . import pod_processes
from .execution import Execution

REPORT_SECONDS: Final = 10.0
"""Time for killed processes to end, and for the runtime to record their end. Usually it takes milliseconds."""
_POLL_SECONDS: Final = 0.5
_END_SECONDS: Final = 20.0
END_SHIMS: Final = "actors.shared.cri.shims:kill_hanging"


def shims_of(stuck: Iterable[CriContainer | Sandbox]) -> dict[str, str]:
    """The ID of the sandbox of each container or sandbox, by the ID of that. They share its shim. Pure."""
    return {one.id: one.sandbox_id if isinstance(one, CriContainer) else one.id for one in stuck}


async def end_stuck(run: Execution, stuck: Mapping[str, str]) -> None:
    """`stuck`: the containers and sandboxes whose stop missed its deadline, as `shims_of` returns them. Raises nothing:
    the pod worker retries the stop in any case."""
    cgroup = pod_processes.path(run.state.acquired.cgroup_parent)
    if not cgroup or not stuck:
        return
    try:
        await _end_stuck(run, cgroup, stuck)
    except (CriError, OSError) as error:  # OSError: cgroups that cannot be read
        run.services.actor.log.warning("pod %s: %s", run.state.label, error_text(error))


async def _end_stuck(run: Execution, cgroup: str, stuck: Mapping[str, str]) -> None:
    """Raises CriError, OSError."""
    tree = pod_processes.tree()
    for container_id, inner in sorted(pod_processes.cgroups_with_programs(tree, cgroup).items()):
        if container_id in stuck:
            tree.kill(inner)
            text = "pod %s: killed the processes of %s, whose stop hangs"
            run.services.actor.log.warning(text, run.state.label, container_id)
    left = set(stuck)
    for _ in range(int(scaled(REPORT_SECONDS) / _POLL_SECONDS)):
        await asyncio.sleep(_POLL_SECONDS)
        left = {one for one in left if await _lists_as_running(run, one, is_sandbox=stuck[one] == one)}
        if not left:
            return
    left -= pod_processes.cgroups_with_programs(tree, cgroup).keys()  # even the kernel has not ended these
    silent = {one for one in left if await run.services.client.is_shim_silent(one)}
    if silent:
        await _end_shims(run, sorted({stuck[one] for one in silent} | silent))


async def _lists_as_running(run: Execution, which: str, *, is_sandbox: bool) -> bool:
    client = run.services.client
    try:
        if is_sandbox:
            return (await client.pod_sandbox_status(which)).ready
        return (await client.container_status(which)).state is CriContainerState.RUNNING
    except NotFound:
        return False


async def _end_shims(run: Execution, ids: list[str]) -> None:
    services = run.services
    arguments = {"socket": socket_of(services.agent.runtime_endpoint), "ids": ids}
    text = "pod %s: its processes have ended, and its shim does not answer: %s"
    try:
        ended = await services.actor.disposable(END_SHIMS, arguments, deadline=_END_SECONDS)
    except DisposableError as error:
        services.actor.log.warning(text, run.state.label, error)
        return
    services.actor.log.warning(text, run.state.label, f"killed {', '.join(ended)}" if ended else "it is not found")
