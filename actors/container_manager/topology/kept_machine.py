"""The machine as the agent has found it at its start.

CPUs go offline, and huge pages change, while the agent runs. The static policies keep to the machine that they began
with, as in the kubelet, also in a process that continues them: its state would not fit the changed one. A new agent
takes the machine as it is then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from actors.shared.linux.cpu_list import format_cpu_list
from actors.shared.state_files import Log
from supervision.errors import error_text
from supervision.state_file import DamagedError, StateFile

from .machine import MachineTopology

MACHINE: Final = "machine"
"""The file's name, in the directory of the copies of state files."""


def machine_of_this_life(
    directory: Path, read: Callable[[], MachineTopology], log: Log, again: bool
) -> MachineTopology:
    """`again`: an earlier process of this agent has read it. Raises OSError, ValueError where `read` does."""
    file = StateFile(directory / MACHINE, MachineTopology, sync=False)
    kept = _kept(file, log) if again else None
    if kept is not None:
        _tell_changes(kept, read, log)
        return kept
    found = read()
    try:
        file.save(found)
    except OSError as error:
        log.warning("the CPUs and memory of the machine are not kept for a restart: %s", error_text(error))
    return found


def _kept(file: StateFile[MachineTopology], log: Log) -> MachineTopology | None:
    try:
        return file.load()
    except (OSError, DamagedError) as error:
        log.warning("the CPUs and memory of the machine are read again: %s", error_text(error))
        return None


def _tell_changes(kept: MachineTopology, read: Callable[[], MachineTopology], log: Log) -> None:
    try:
        now = read()
    except (OSError, ValueError) as error:
        log.warning("the CPUs of this machine cannot be read: %s", error_text(error))
        return
    if now.online != kept.online:
        log.warning(
            "CPUs %s are online; the static policies go on with CPUs %s, until the agent starts again",
            format_cpu_list(now.online), format_cpu_list(kept.online),
        )  # fmt: skip
    elif now != kept:
        text = "%s; the static policies go on with what there was, until the agent starts again"
        log.warning(text, "; ".join(_changed_memory(kept, now)) or "the CPUs of the machine are arranged otherwise")


def _changed_memory(kept: MachineTopology, now: MachineTopology) -> Iterator[str]:
    """The memory of each NUMA node that has other memory than before, in bytes."""
    before = {node.id: node.memory for node in kept.nodes}
    after = {node.id: node.memory for node in now.nodes}
    for number in sorted({*before, *after}):
        had, has = before.get(number, {}), after.get(number, {})
        for kind in sorted({*had, *has}):
            if had.get(kind) != has.get(kind):
                yield f"{kind} of NUMA node {number} is {has.get(kind, 0)}, and was {had.get(kind, 0)}"
