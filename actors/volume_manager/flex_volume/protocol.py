"""Calls of a FlexVolume driver and its answers (the FlexVolume specification of SIG Storage). Pure.

A driver is called as `PROGRAM COMMAND [ARGUMENTS]` and prints one JSON object.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from supervision.errors import UNREADABLE

Command = Literal["init", "mount", "unmount"]
SUCCESS: Final = "Success"
NOT_SUPPORTED: Final = "Not supported"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?\Z")
_SHOWN: Final = 200
"""Characters of an output that cannot be read, in the error."""


class DriverError(Exception):
    """A call failed; the text says why."""


class NotSupported(DriverError):
    """The driver does not have the command."""


class DriverCapabilities(msgspec.Struct, frozen=True):
    """What a driver can do; it names what differs from these defaults."""

    attach: bool = True
    """Its volumes are attached by the controller manager before they are mounted."""
    fsGroup: bool = True
    """The agent gives the files to the pod's fsGroup."""


class DriverStatus(msgspec.Struct, frozen=True):
    """An answer."""

    status: str = ""
    message: str = ""
    capabilities: DriverCapabilities | None = None


class MountOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What `mount` is told of a volume and its pod."""

    volume: str
    """The name of the PersistentVolume, or of the volume in the pod."""
    fs_type: str
    read_only: bool
    options: dict[str, str]
    """The options in the volume's source."""
    fs_group: int | None
    pod: str
    namespace: str
    uid: str
    service_account: str


def is_driver_name(text: str) -> bool:
    """Whether it is the name of a driver, which names its directory."""
    return _NAME.match(text) is not None


def directory_of(driver: str) -> str:
    """The directory of the driver's program, and of its volumes in that of a pod: `vendor~name`."""
    return driver.replace("/", "~")


def driver_of(directory: str) -> str:
    """The driver whose directory has this name."""
    return directory.replace("~", "/", 1)


def program_of(driver: str) -> str:
    """The path of its program below volumePluginDir."""
    return f"{directory_of(driver)}/{driver.rpartition('/')[2]}"


def mount_options(given: MountOptions, secrets: Mapping[str, str]) -> str:
    """The options argument, as JSON. `secrets`: by key, in base64."""
    named = {
        "kubernetes.io/fsType": given.fs_type,
        "kubernetes.io/readwrite": "ro" if given.read_only else "rw",
        "kubernetes.io/pvOrVolumeName": given.volume,
        "kubernetes.io/pod.name": given.pod,
        "kubernetes.io/pod.namespace": given.namespace,
        "kubernetes.io/pod.uid": given.uid,
        "kubernetes.io/serviceAccount.name": given.service_account,
        **{f"kubernetes.io/secret/{key}": value for key, value in secrets.items()},
        **({} if given.fs_group is None else {"kubernetes.io/mounterArgs.FsGroup": str(given.fs_group)}),
        **given.options,
    }
    return msgspec.json.encode(dict(sorted(named.items()))).decode()


def read_answer(command: Command, exit_status: int, output: str) -> DriverStatus:
    """Raises NotSupported, DriverError."""
    try:
        answer = msgspec.json.decode(output, type=DriverStatus)
    except UNREADABLE:
        shown = output[:_SHOWN]
        raise DriverError(f"{command} command failed with exit status {exit_status}, no answer: {shown!r}") from None
    if answer.status == NOT_SUPPORTED:
        raise NotSupported(f"{command} command is not supported by the driver")
    if answer.status != SUCCESS:
        raise DriverError(f"{command} command failed, status: {answer.status}, reason: {answer.message}")
    if exit_status != 0:
        raise DriverError(f"{command} command failed with exit status {exit_status}, though its answer is Success")
    return answer
