"""Ends tasks that a cancelled StartContainer leaves in containerd, and that block the removal of the container.

If the caller of StartContainer disappears (the agent was killed) while containerd creates the task, the shim still
creates it, but the CRI plug-in records a failed start. The plug-in then cannot remove the container until containerd
restarts, even after the process has ended (measured on 1.6.20: one in ten of the starts cancelled early). Such a task
is ended through containerd's own API, on the same socket.

The plug-in continues a cancelled start: usually for seconds, for a minute when the shim does not answer, forever when
the container's log cannot be opened. Meanwhile it refuses the removal (StillStarting). A container may still run and
needs an orderly stop, so its caller looks at it again and repeats the removal. The removal of a sandbox stops it
anyway, so there the task is ended and the removal is repeated until the start is over.
"""

from __future__ import annotations

import contextlib
import re
import signal
from typing import Any, Final

from google.protobuf.message import Message

from proto import containerd_tasks_pb2 as tasks
from supervision.time_scale import scaled

from .adoption import PollSchedule
from .errors import CriError, DeadlineExceeded, NotFound, RuntimeFailure, StillStarting
from .methods import Method
from .transport import Transport

_SERVICE: Final = "containerd.services.tasks.v1.Tasks"
NAMESPACE: Final = (("containerd-namespace", "k8s.io"),)
"""The metadata that names the containerd namespace of the CRI plug-in."""
KILL: Final = Method(
    "KillTask", f"/{_SERVICE}/Kill", tasks.KillRequest, tasks.KillResponse, streams=False, headers=NAMESPACE
)
DELETE: Final = Method(
    "DeleteTask", f"/{_SERVICE}/Delete", tasks.DeleteTaskRequest, tasks.DeleteResponse, streams=False, headers=NAMESPACE
)
_SECONDS: Final = 10.0
"""Deadline in seconds: a shim answers at once, or hangs."""
_BLOCKING_TASK = re.compile(r"cannot delete running task ([0-9A-Za-z]+)")


async def remove(
    transport: Transport,
    method: Method[Any, Any],
    request: Message,
    seconds: float,
    polling: PollSchedule,
    *,
    ends_starts: bool = False,
) -> None:
    """Call RemoveContainer or RemovePodSandbox; end a task that blocks the removal, then repeat the call.

    Only tasks of the removed object are ended; both calls kill running containers anyway. NotFound counts as success.
    `seconds`: deadline of the removal. `ends_starts`: end the task of a start in progress. Raises CriError:
    StillStarting when a start does not finish.
    """
    ended: set[str] = set()
    pauses = polling.pauses()
    while True:
        try:
            await transport.call(method, request, seconds)
        except NotFound:
            return
        except StillStarting as error:
            if not ends_starts:
                raise
            if error.id not in ended:
                ended.add(error.id)
                with contextlib.suppress(CriError):
                    await end(error.id, transport, polling)
            pause = next(pauses, None)
            if pause is None:
                raise
            await polling.sleep(pause)
        except CriError as error:
            match = _BLOCKING_TASK.search(error.details)
            if match is None or match[1] in ended:
                raise
            try:
                await end(match[1], transport, polling)
            except CriError as failure:
                raise error from failure
            ended.add(match[1])
        else:
            return


async def end(container_id: str, transport: Transport, polling: PollSchedule) -> None:
    """Kill a container's task, if there is one, and delete it once it is dead. Raises CriError: Unimplemented when the
    runtime is not containerd."""
    kill = tasks.KillRequest(container_id=container_id, signal=signal.SIGKILL, all=True)
    delete = tasks.DeleteTaskRequest(container_id=container_id)
    pauses = polling.pauses()
    while True:
        with contextlib.suppress(CriError):  # it may have ended already: Delete shows it
            await transport.call(KILL, kill, scaled(_SECONDS))
        try:
            await transport.call(DELETE, delete, scaled(_SECONDS))
        except NotFound:
            return
        except RuntimeFailure:  # it is not dead yet
            pause = next(pauses, None)
            if pause is None:
                raise
            await polling.sleep(pause)
        else:
            return


async def is_silent(container_id: str, transport: Transport) -> bool:
    """Whether a SIGKILL of the container's task is not answered in time: containerd passes it on to the shim. Any
    answer will do, also an error."""
    kill = tasks.KillRequest(container_id=container_id, signal=signal.SIGKILL, all=True)
    try:
        await transport.call(KILL, kill, scaled(_SECONDS))
    except DeadlineExceeded:
        return True
    except CriError:
        return False
    return False
