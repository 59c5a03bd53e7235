"""cpu_manager_state as kubelets before 1.18 wrote it: its entries name containers by their ids alone.

    {"policyName":"static","defaultCpuSet":"0,2-7","entries":{"<container id>":"1"},"checksum":N}

The runtime knows the pods and names of these ids, so the container manager converts such a file before anything else
reads it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import msgspec

from actors.container_manager.topology.machine import Cpus
from actors.shared.cri.client import CriClient
from actors.shared.cri.errors import CriError
from actors.shared.cri.model import CriContainer
from actors.shared.fnv import fnv1a_32
from actors.shared.hardware.checksum import map_text
from actors.shared.restore_error import restore_error
from actors.shared.state_files import CopiedFile
from supervision.errors import UNREADABLE
from supervision.state_file import read_private

from .state import CpuState, StateError, container_set, default_set, encode

TRIES: Final = 5
PAUSE_SECONDS: Final = 1.0


class EarlierFile(msgspec.Struct):
    policyName: str = ""
    defaultCpuSet: str = ""
    entries: dict[str, str] = {}
    checksum: int = 0


def read_earlier(raw: bytes) -> EarlierFile | None:
    """Read an earlier form of the file; None for the present form, and for a damaged file."""
    try:
        file = msgspec.json.decode(raw, type=EarlierFile)
    except UNREADABLE:
        return None
    text = (
        f"(*state.CPUManagerCheckpoint){{PolicyName:(string){file.policyName} "
        f"DefaultCPUSet:(string){file.defaultCpuSet} Entries:(map[string]string){map_text(file.entries)} "
        f"Checksum:(checksum.Checksum)0}}"
    )
    if not file.entries:  # the forms differ in their checksums only
        return file if file.checksum == fnv1a_32(text) else None
    return file if file.checksum in (0, fnv1a_32(text)) else None


def untranslated(file: EarlierFile) -> CpuState:
    """The state with container ids in place of pods: the CPUs are right, their pods are not known. Raises
    StateError.
    """
    return _state(file, {container: (container, "") for container in file.entries})


def translated(file: EarlierFile, containers: Iterable[CriContainer]) -> CpuState:
    """Raises StateError for a container that the runtime does not have."""
    return _state(file, {one.id: (one.pod_uid, one.name) for one in containers})


def _state(file: EarlierFile, names: dict[str, tuple[str, str]]) -> CpuState:
    entries: dict[str, dict[str, Cpus]] = {}
    for container, cpus in file.entries.items():
        if container not in names:
            raise StateError(f"containerID '{container}' not found in initial containers list")
        uid, name = names[container]
        entries.setdefault(uid, {})[name] = container_set(cpus, name, uid)
    return CpuState(file.policyName, default_set(file.defaultCpuSet), entries)


async def translate(kept: CopiedFile, runtime: Callable[[], CriClient]) -> None:
    """Write the file in its present form, if it is of the earlier one; only then the runtime is asked. Raises
    StateError, with the kubelet's words, OSError."""
    file = _read_file(kept.newest())
    if file is None:
        return
    try:
        state = translated(file, await _containers(runtime()) if file.entries else ())
    except StateError as error:
        raise StateError(*restore_error(kept.path, error, "the CPU manager checkpoint file")) from None
    kept.write(encode(state), sync=True)


def _read_file(path: Path) -> EarlierFile | None:
    return read_earlier(read_private(path)) if path.exists() else None


async def _containers(runtime: CriClient) -> list[CriContainer]:
    """Raises StateError."""
    why = ""
    for _ in range(TRIES):
        try:
            return await runtime.list_containers()
        except CriError as error:
            why = str(error)
        await asyncio.sleep(PAUSE_SECONDS)
    raise StateError(f"the containers that it names by id cannot be looked up: {why}")
