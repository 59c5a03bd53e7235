"""What a start that was given up leaves in containerd, and what keeps a container from being removed.

When whoever asked for StartContainer goes (the agent was killed) while containerd makes the task, the shim makes it all
the same; the plug-in takes the container for one that could not start. From then on it fails to remove it until it is
started anew itself, whatever becomes of the process (measured on 1.6.20: one start in ten that was given up early).
Such a task is ended by containerd's own API, on the same socket.

The plug-in goes on with a start that was given up, some seconds as a rule, a minute when its shim does not answer, for
good when the container's log cannot be opened. As long as that lasts it refuses the removal (StillStarting). A
container may run yet, and is to end in good order then: its removal is tried again by the caller, who looks first. A
sandbox is stopped when it is removed: there the task is ended, and the removal tried until the start is over.
"""

from __future__ import annotations

import contextlib
import re
import signal
from typing import Any, Final

from google.protobuf.message import Message

from proto import containerd_tasks_pb2 as tasks
from supervision.time_scale import scaled

from .adoption import Settling
from .errors import CriError, NotFound, Other, StillStarting
from .methods import Method
from .transport import Transport

_SERVICE: Final = "containerd.services.tasks.v1.Tasks"
_HEADERS: Final = (("containerd-namespace", "k8s.io"),)
"""Where containerd's CRI plug-in has all that is its."""
KILL: Final = Method(
    "KillTask", f"/{_SERVICE}/Kill", tasks.KillRequest, tasks.KillResponse, streams=False, headers=_HEADERS
)
DELETE: Final = Method(
    "DeleteTask", f"/{_SERVICE}/Delete", tasks.DeleteTaskRequest, tasks.DeleteResponse, streams=False, headers=_HEADERS
)
_SECONDS: Final = 10.0
"""A shim answers at once, or hangs."""
_IN_THE_WAY = re.compile(r"cannot delete running task ([0-9A-Za-z]+)")


async def remove(
    transport: Transport,
    method: Method[Any, Any],
    request: Message,
    seconds: float,
    settling: Settling,
    *,
    ends_starts: bool = False,
) -> None:
    """Carry out RemoveContainer or RemovePodSandbox; a task that is in its way is ended, then it is tried again.

    Nothing is ended that was not to be removed: both kill what they find running. What is not there is removed.
    `seconds`: deadline of the removal. `ends_starts`: a start that is in the way is ended. Raises CriError:
    StillStarting when a start does not come to its end.
    """
    ended: set[str] = set()
    pauses = settling.pauses()
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
                    await end(error.id, transport, settling)
            pause = next(pauses, None)
            if pause is None:
                raise
            await settling.sleep(pause)
        except CriError as error:
            found = _IN_THE_WAY.search(error.details)
            if found is None or found[1] in ended:
                raise
            try:
                await end(found[1], transport, settling)
            except CriError as failure:
                raise error from failure
            ended.add(found[1])
        else:
            return


async def end(container_id: str, transport: Transport, settling: Settling) -> None:
    """Kill a container's task, if there is one, and have it forgotten once it is dead. Raises CriError: Unimplemented
    by what is not containerd."""
    kill = tasks.KillRequest(container_id=container_id, signal=signal.SIGKILL, all=True)
    delete = tasks.DeleteTaskRequest(container_id=container_id)
    pauses = settling.pauses()
    while True:
        with contextlib.suppress(CriError):  # it may have ended already: Delete tells
            await transport.call(KILL, kill, scaled(_SECONDS))
        try:
            await transport.call(DELETE, delete, scaled(_SECONDS))
        except NotFound:
            return
        except Other:  # it is not dead yet
            pause = next(pauses, None)
            if pause is None:
                raise
            await settling.sleep(pause)
        else:
            return
