"""Errors of drivers, and the kubelet's texts for the volumes that fail with them, which users search for."""

from __future__ import annotations

from typing import Final

from actors.volume_manager.failure_texts import (
    EXPAND,
    EXPAND_DEVICE,
    MAP_DEVICE,
    MOUNT_DEVICE,
    SET_UP,
    SET_UP_DEVICE,
    MountError,
)

from .model import CsiMount

_PREFIX = "kubernetes.io/csi: "
_UNCERTAIN: Final = frozenset({"CANCELLED", "DEADLINE_EXCEEDED", "UNAVAILABLE", "RESOURCE_EXHAUSTED", "ABORTED"})
"""Codes after which the call may still run or have succeeded (CSI specification, "Error Scheme")."""


class CsiError(Exception):
    """A driver failed, or something that it depends on is missing; a retry may succeed."""


class UnknownDriverError(CsiError):
    """No driver of this name is registered."""


class NotAttachedError(CsiError):
    """The attach controller has not attached the volume yet."""


class ExhaustedError(NotAttachedError):
    """The driver cannot attach more volumes to this node."""


class PlainError(CsiError):
    """An error whose text appears in an event without the plugin's name before it."""


class CallError(PlainError):
    """A driver answered a call with an error. `text`: as gRPC's libraries write it; `code`: its name, as in
    `FAILED_PRECONDITION`."""

    def __init__(self, method: str, text: str, code: str) -> None:
        super().__init__(text)
        self._method, self.code = method, code

    def __str__(self) -> str:
        return f"{self._method}: {self.args[0]}"


class NodeExpandError(CallError):
    """NodeExpandVolume failed. `error`: the driver's answer; the text is the kubelet's."""

    def __init__(self, error: CallError, *, infeasible: bool) -> None:
        colon = "" if infeasible else " :"
        text = f"Expander.NodeExpand failed to expand the volume{colon} {error.args[0]}"
        super().__init__("NodeExpandVolume", text, error.code)

    def __str__(self) -> str:
        return str(self.args[0])


class StageError(CsiError):
    """The volume could not be staged. `cause`: why."""

    def __init__(self, cause: CsiError | OSError) -> None:
        super().__init__(str(cause))
        self.cause = cause


class VolumeExpansionError(CsiError):
    """The volume is published, but could not be expanded as it was mounted. `cause`: why."""

    def __init__(self, cause: CsiError) -> None:
        super().__init__(str(cause))
        self.cause = cause


def code_of(error: CsiError) -> str:
    """gRPC's name of the driver's answer; '' when no driver answered."""
    return error.code if isinstance(error, CallError) else ""


def is_final(error: Exception) -> bool:
    """Whether the answer means that the call neither runs nor has had an effect, like the kubelet's isFinalError."""
    return isinstance(error, CallError) and error.code not in _UNCERTAIN


def mount_error(error: CsiError | OSError, step: CsiMount) -> MountError:
    """The error that the pod's event shows for the volume."""
    is_device = step.device is not None
    if isinstance(error, UnknownDriverError):
        operation, text = _without_client(step)
        return MountError(f"{_PREFIX}{text}: {error}", operation)
    if isinstance(error, StageError):
        return MountError(_text(error.cause), SET_UP_DEVICE if is_device else MOUNT_DEVICE)
    if isinstance(error, VolumeExpansionError):
        return MountError(_text(error.cause), EXPAND_DEVICE if is_device else EXPAND)
    return MountError(
        _text(error),
        MAP_DEVICE if is_device else SET_UP,
        waits=isinstance(error, NotAttachedError),
        exhausted=isinstance(error, ExhaustedError),
    )


def _without_client(step: CsiMount) -> tuple[str, str]:
    if step.device is not None:
        return SET_UP_DEVICE, "blockMapper.SetUpDevice failed to get CSI client"
    if step.source.ephemeral:
        return SET_UP, "mounter.SetUpAt failed to get CSI client"
    return MOUNT_DEVICE, "attacher.MountDevice failed to create newCsiDriverClient"


def _text(error: CsiError | OSError) -> str:
    if isinstance(error, CallError):
        return str(error.args[0])
    return str(error) if isinstance(error, PlainError) else f"{_PREFIX}{error}"
