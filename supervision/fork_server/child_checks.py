"""Finds children that hang or use too much memory, and has the fork server kill them."""

from __future__ import annotations

import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable

import msgspec

from .. import logs, process_stat, resource_limits
from ..process.heartbeat import HEARTBEAT_SECONDS
from ..process_messages import Cause
from ..spec import Policy
from ..time_scale import scaled
from .child_process import ChildProcess
from .loop import Loop
from .oom_kills import OomKills
from .own_disks import OwnDisks
from .process_entry import ProcessEntry
from .process_table import ProcessTable
from .spare_descriptor import SpareDescriptor
from .starvation import Starvation

_MEMORY_SECONDS = 2.0
_DUMP_SECONDS, _PROGRAM_DUMP_SECONDS = 0.2, 1.0
_LATE_SECONDS = 2.0
_DISK_SECONDS = 10.0
"""How long a process in uninterruptible sleep (`D`) may be silent, whatever its policy."""
_DELAY_MEMORY_SECONDS = 10.0
_PAGE = os.sysconf("SC_PAGE_SIZE")
_STATM_BYTES = 256
_MIB = 1024 * 1024
Kill = Callable[[ProcessEntry, Cause, str], None]


def tick_seconds(policies: Iterable[Policy]) -> float:
    """The check interval: one second, less if a policy's deadlines are shorter than the default."""
    found = list(policies)
    heartbeat = min((p.heartbeat_seconds for p in found if p.heartbeat_seconds > 0), default=10.0)
    busy = min((p.busy_seconds for p in found if p.busy_seconds > 0), default=10.0)
    return max(0.05, min(1.0, heartbeat / 4, busy / 4))


def changed(child: ProcessEntry, policy: Policy) -> Policy:
    """The part of a new policy that applies to a running process, which keeps the heartbeat interval of its fork."""
    least = min(4 * HEARTBEAT_SECONDS, child.policy.heartbeat_seconds or 4 * HEARTBEAT_SECONDS)
    if not child.alive or not policy.heartbeat_seconds or policy.heartbeat_seconds >= least:
        return policy
    return msgspec.structs.replace(policy, heartbeat_seconds=least)


class RecentDelay:
    """The worst recent delay of the fork server's own loop: a measure of the machine's overload."""

    def __init__(self) -> None:
        self._delays: deque[tuple[float, float]] = deque()

    def add(self, now: float, seconds: float) -> None:
        """Record the delay of one turn."""
        while self._delays and self._delays[-1][1] <= seconds:
            self._delays.pop()
        self._delays.append((now, seconds))

    def worst(self, now: float) -> float:
        """The worst delay of the last seconds; 0.0 if all turns were in time."""
        while self._delays and now - self._delays[0][0] > _DELAY_MEMORY_SECONDS:
            self._delays.popleft()
        return max(0.0, self._delays[0][1]) if self._delays else 0.0


class Watch:
    """Checks every child of the table periodically."""

    def __init__(self, loop: Loop, table: ProcessTable, kill: Kill, oom_kills: OomKills, disks: OwnDisks) -> None:
        self._loop, self._table, self._kill, self._oom_kills, self._disks = loop, table, kill, oom_kills, disks
        self._suspects: set[ChildProcess] = set()
        """Those of which the disks are being asked."""
        self._tick = tick_seconds(child.policy for child in table)
        self._last = self._memory_at = time.monotonic()
        self._lenient_until = 0.0
        self._delay = RecentDelay()
        self._silences, self._busy = Starvation(), Starvation()
        self._spare = SpareDescriptor()
        loop.call_later(self._tick, self._check_all)

    def reschedule(self) -> None:
        """Policies have changed."""
        self._tick = tick_seconds(child.policy for child in self._table)

    def fds(self) -> list[int]:
        """The descriptors that every child closes."""
        return self._spare.fds()

    def _check_all(self) -> None:
        self._loop.call_later(self._tick, self._check_all)
        logs.flush(due=True)
        with self._spare.lent():
            self._check_each()

    def _check_each(self) -> None:
        now = time.monotonic()
        self._delay.add(now, now - self._last - self._tick)
        if now - self._last > self._tick + _LATE_SECONDS:
            # the fork server itself stood still (stopped, starved), so old heartbeats prove nothing
            self._lenient_until = now + 2 * _LATE_SECONDS + self._tick
        self._last = now
        if now >= self._lenient_until:
            for child in self._table:
                self._check_heartbeat(child, now)
                self._check_busy(child, now)
        if now - self._memory_at >= _MEMORY_SECONDS:
            self._memory_at = now
            self._oom_kills.look((child.process.pid for child in self._table if child.process.pid), now)
            for child in self._table:
                self._check_memory(child)

    def _check_heartbeat(self, child: ProcessEntry, now: float) -> None:
        process, allowed = child.process, child.policy.heartbeat_seconds
        if process.status_entry is None or process.cause is not None or not allowed or child.state == "down":
            return
        if child.state == "starting":
            allowed = max(allowed, child.policy.start_seconds)
        last = max(process.status_entry.heartbeat, process.ordered_at)
        silent = now - last
        if silent <= allowed / 2 or silent <= allowed + self._leniency(now, self._silences, child, last):
            return
        if silent <= scaled(_DISK_SECONDS) and process_stat.state(process.pid) == "D":
            return  # it waits for a disk; a kill takes effect no sooner
        if child.policy.busy_seconds and process.status_entry.busy_since and not process_stat.is_stopped(process.pid):
            return  # `_check_busy` covers this
        self.end_hung(child, f"no heartbeat for {silent:.1f} s")

    def _check_busy(self, child: ProcessEntry, now: float) -> None:
        entry = child.process.status_entry
        if not child.policy.busy_seconds or entry is None or child.process.cause is not None:
            return
        if child.state != "running":
            return
        since = entry.busy_since
        allowed = max(child.policy.busy_seconds, entry.allowance_seconds)
        if not since or now - since <= allowed / 2:
            return
        if now - since > allowed + self._leniency(now, self._busy, child, since):
            self.end_hung(child, f"busy for {now - since:.1f} s with one step")

    def _leniency(self, now: float, waits: Starvation, child: ProcessEntry, since: float) -> float:
        """Seconds to allow in addition: twice the recent delay of the fork server itself, or what the child has waited
        for a processor."""
        return max(2 * self._delay.worst(now), waits.seconds(child.name, child.process.pid, since, now))

    def end_hung(self, child: ProcessEntry, text: str) -> None:
        """Kill a hung child, unless a disk of the agent's own hangs: nobody is to blame then. One that uses the
        processor waits for no disk."""
        process = child.process
        if not process.pid or process in self._suspects:
            return  # a signal to pid 0 would go to the fork server's own group
        if process_stat.is_stopped(process.pid):
            process.found_stopped()
            self._kill(child, "hang", f"{text}: the process is stopped by a signal")
            return
        seen = process.signs_of_life()
        self._suspects.add(process)

        def asked(hanging: str) -> None:
            self._suspects.discard(process)
            if child.process is not process or process.is_reaped or process.cause is not None:
                return
            if hanging and self._disks.hold(child.name, process.pid, hanging):
                return
            if process.signs_of_life() == seen and not self._disks.is_recent(child.policy.heartbeat_seconds):
                self._dump(child, text)

        self._disks.ask(asked)

    def _dump(self, child: ProcessEntry, text: str) -> None:
        """Have a hung child write its stacks, then kill it."""
        process = child.process
        if (files := resource_limits.open_files(process.pid)) is not None and files.opened >= files.most:
            text = f"{text}: it has all {files.most} files open that it may have"
        process.record_cause("hang", text)
        if process.blackbox is not None:
            process.blackbox.expect_stacks()
        os.kill(process.pid, signal.SIGUSR1)
        seconds = scaled(_PROGRAM_DUMP_SECONDS if child.spec.program else _DUMP_SECONDS)
        process.add_timer(self._loop.call_later(seconds, lambda: self._kill_hung(child, text)))

    def _kill_hung(self, child: ProcessEntry, text: str) -> None:
        if child.spec.program:
            where = child.spec.log_file
            if child.spec.probe is not None and child.spec.probe.stacks_file:
                where = child.spec.probe.stacks_file.replace("{pid}", str(child.process.pid))
            self._kill(child, "hang", f"{text}; its stacks, if it wrote any, are in {where}" if where else text)
            return
        stacks = child.process.blackbox.stacks() if child.process.blackbox is not None else ""
        self._kill(child, "hang", f"{text}\n{stacks}" if stacks else f"{text}; it gave no stack")

    def _check_memory(self, child: ProcessEntry) -> None:
        process, ceiling = child.process, child.policy.memory_mib * _MIB
        if not process.pid or process.cause is not None or not ceiling:
            return
        # RSS includes pages shared with the fork server; PSS is exact but costs more, so it is read only when it
        # matters
        if rss(process.pid) <= ceiling:
            return
        used = pss(process.pid)
        process.measured(used, time.monotonic())
        if used > ceiling:
            text = f"{used / _MIB:.0f} MiB, more than the {child.policy.memory_mib} MiB allowed"
            self._kill(child, "memory", text)


def rss(pid: int) -> int:
    """Resident bytes, shared pages included; 0 if the process has ended."""
    try:
        fd = os.open(
            f"/proc/{pid}/statm", os.O_RDONLY | os.O_CLOEXEC
        )  # a file object would make twice as many system calls
    except OSError:
        return 0
    try:
        return int(os.read(fd, _STATM_BYTES).split()[1]) * _PAGE
    except OSError:
        return 0
    finally:
        os.close(fd)


def pss(pid: int) -> int:
    """Proportional set size in bytes; RSS where the kernel does not report it."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            for line in file:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return rss(pid)
