"""The kernel's notifications that memory runs short. They start a round early.

Cgroups v1: an eventfd for each threshold, through cgroup.event_control (memory.rst), only with kernelMemcgNotification.
Cgroups v2: a trigger on pressure stall information (psi.rst), if the kernel has it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import select
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from actors.shared.config.fields.eviction import Threshold
from actors.shared.linux.cgroup_tree import CgroupTree
from actors.shared.stats.cgroup_usage import inactive_file

from .resources import ALLOCATABLE_MEMORY, MEMORY
from .thresholds import SignalObservation, is_met

STALL_TRIGGER: Final = b"some 100000 2000000\0"
"""Fires when tasks wait for memory for 0.1 s within 2 s. Other windows need CAP_SYS_RESOURCE."""


class Mark(msgspec.Struct, frozen=True):
    """The memory usage of a cgroup at which a threshold is met."""

    cgroup: str
    """'' for the root cgroup."""
    usage_bytes: int


def marks(
    watched: Iterable[Threshold], observed: Mapping[str, SignalObservation], inactive: Mapping[str, int], kubepods: str
) -> list[Mark]:
    """The marks of the memory thresholds that are not met. `inactive`: bytes of inactive file pages by cgroup; they
    count as available. Pure."""
    cgroups = {MEMORY: "", **({ALLOCATABLE_MEMORY: kubepods} if kubepods else {})}
    result = []
    for threshold in watched:
        one, cgroup = observed.get(threshold.signal), cgroups.get(threshold.signal)
        if one is not None and cgroup is not None and not is_met(threshold, observed):
            used = one.capacity - threshold.amount.of(one.capacity)
            result.append(Mark(cgroup, used + inactive.get(cgroup, 0)))
    return result


class MemoryNotices:
    """Calls `notice` on each notification. `notifies`: kernelMemcgNotification. Without notifications the regular
    rounds still observe memory."""

    def __init__(
        self,
        tree: CgroupTree,
        notice: Callable[[], None],
        log: logging.Logger,
        *,
        notifies: bool,
        proc: str = "/proc",
    ) -> None:
        self._tree, self._notice, self._log, self._proc = tree, notice, log, proc
        self._arms = notifies and tree.version == 1
        self._failed = False
        self._events: list[int] = []
        self._stalls: tuple[int, select.epoll] | None = None

    def start(self) -> None:
        if self._tree.version == 2:
            try:
                self._watch_stalls()
            except OSError as error:
                self._log.info("the kernel sends no notifications of memory stalls: %s", error)

    def arm(self, watched: Iterable[Threshold], observed: Mapping[str, SignalObservation], kubepods: str) -> None:
        """Request a notification at each threshold that is not met; earlier requests are withdrawn."""
        if not self._arms:
            return
        self._disarm()
        inactive = {cgroup: inactive_file(self._tree, cgroup) or 0 for cgroup in ("", kubepods)}
        try:
            for mark in marks(watched, observed, inactive, kubepods):
                self._arm(mark)
        except OSError as error:
            if not self._failed:
                self._log.warning("the kernel sends no notifications of memory usage (tried each round): %s", error)
            self._failed = True
        else:
            self._failed = False

    def _watch_stalls(self) -> None:
        """Raises OSError when the kernel has no pressure stall information or denies access to it."""
        file = os.open(f"{self._proc}/pressure/memory", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            os.write(file, STALL_TRIGGER)
            poll = select.epoll()
            poll.register(file, select.EPOLLPRI | select.EPOLLET)
        except OSError:
            os.close(file)
            raise
        self._stalls = (file, poll)
        asyncio.get_running_loop().add_reader(poll.fileno(), self._handle_stall)

    def _disarm(self) -> None:
        loop = asyncio.get_running_loop()
        for event in self._events:
            loop.remove_reader(event)
            os.close(event)
        self._events = []

    def _arm(self, mark: Mark) -> None:
        """Raises OSError."""
        directory = self._tree.directory(mark.cgroup, "memory")
        event = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        try:
            usage = os.open(f"{directory}/memory.usage_in_bytes", os.O_RDONLY | os.O_CLOEXEC)
            try:
                control = os.open(f"{directory}/cgroup.event_control", os.O_WRONLY | os.O_CLOEXEC)
                try:
                    os.write(control, f"{event} {usage} {mark.usage_bytes}".encode("ascii"))
                finally:
                    os.close(control)
            finally:
                os.close(usage)
        except OSError:
            os.close(event)
            raise
        self._events.append(event)
        asyncio.get_running_loop().add_reader(event, self._crossed, event)

    def _crossed(self, event: int) -> None:
        """Usage has crossed the mark, in either direction."""
        os.eventfd_read(event)
        self._notice()

    def _handle_stall(self) -> None:
        if self._stalls is not None:
            self._stalls[1].poll(0)
            self._notice()
