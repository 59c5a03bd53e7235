"""The FlexVolume drivers of the node: found when a volume needs them, so that they come and go without a restart."""

from __future__ import annotations

import os
import stat
from typing import Final

from actors.volume_manager.host.mount_program import NOT_RUN, STILL_RUNNING
from actors.volume_manager.tools.system_calls import CallFailed, DisposableCalls

from .protocol import (
    Command,
    DriverCapabilities,
    DriverError,
    DriverStatus,
    directory_of,
    driver_of,
    program_of,
    read_answer,
)

DRIVER_SECONDS: Final = 120.0
"""For one call; then the program and its children are killed."""
MOST_OUTPUT: Final = 64 * 1024
"""Characters of an answer."""
_LATER_SECONDS: Final = 10.0
"""The disposable process has longer than the program that it waits for."""
_RUN: Final = "actors.volume_manager.host.mount_program:run"

Identity = tuple[int, int, int]
"""Identifies a version of a program's file: inode, time of its last change in nanoseconds, size."""


class FlexDrivers:
    """Calls drivers in disposable processes. A driver whose program has changed is asked again what it can do."""

    def __init__(self, calls: DisposableCalls, directory: str) -> None:
        """`directory`: volumePluginDir."""
        self._calls, self._directory = calls, directory
        self._known: dict[str, tuple[Identity, DriverCapabilities]] = {}

    async def capabilities(self, driver: str) -> DriverCapabilities:
        """Raises DriverError."""
        identity = self._identity(driver)
        known = self._known.get(driver)
        if known is not None and known[0] == identity:
            return known[1]
        answer = await self.run(driver, "init")
        found = answer.capabilities or DriverCapabilities()
        self._known[driver] = identity, found
        return found

    async def run(self, driver: str, command: Command, *arguments: str) -> DriverStatus:
        """Raises NotSupported, DriverError. The first of `arguments`, if any, is the path that the call may hang on."""
        program = self._program(driver)
        order = {"arguments": [program, command, *arguments], "seconds": DRIVER_SECONDS, "most": MOST_OUTPUT}
        try:
            key = arguments[0] if arguments else program
            status, output = await self._calls.call(key, _RUN, order, deadline=DRIVER_SECONDS + _LATER_SECONDS)
        except CallFailed as error:
            raise DriverError(f"driver {driver}: {error}") from None
        if status in (NOT_RUN, STILL_RUNNING):
            raise DriverError(f"driver {driver}: {program}: {output}")
        return read_answer(command, status, output)

    def installed(self, pod_dir: str) -> list[str]:
        """The directories below a pod's `volumes` that belong to installed drivers."""
        try:
            names = sorted(os.listdir(f"{pod_dir}/volumes"))
        except FileNotFoundError:
            return []
        return [name for name in names if self._is_installed(driver_of(name))]

    def _is_installed(self, driver: str) -> bool:
        try:
            self._identity(driver)
        except DriverError:
            return False
        return True

    def _program(self, driver: str) -> str:
        return f"{self._directory}/{program_of(driver)}"

    def _identity(self, driver: str) -> Identity:
        """Raises DriverError if there is no such driver."""
        program = self._program(driver)
        try:
            found = os.stat(program)
        except OSError as error:
            text = f"no volume plugin matched: driver {driver} is not in {self._directory}/{directory_of(driver)}"
            raise DriverError(f"{text}: {error.strerror}") from None
        if not stat.S_ISREG(found.st_mode) or not found.st_mode & 0o111:
            raise DriverError(f"no volume plugin matched: {program} of driver {driver} is not a program")
        return found.st_ino, found.st_mtime_ns, found.st_size
