"""The fork server's table of the names in the tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..spec import ChildSpec, Policy, walk
from .process_entry import ProcessEntry


class ProcessTable:
    """All names, parents before their children, siblings in start order."""

    def __init__(self, root: ChildSpec, policies: Mapping[str, Policy]) -> None:
        """A name without an entry in `policies` has the default policy of its spec."""
        self._children: dict[str, ProcessEntry] = {}
        self._pids: dict[int, ProcessEntry] = {}
        for name, parent, spec in walk(root):
            self._children[name] = ProcessEntry(name, parent, spec, policies.get(name, spec.default_policy))

    def __iter__(self) -> Iterator[ProcessEntry]:
        return iter(list(self._children.values()))

    def get(self, name: str) -> ProcessEntry | None:
        return self._children.get(name)

    def add(self, child: ProcessEntry) -> None:
        """Add a child without a spec."""
        self._children[child.name] = child

    def discard(self, child: ProcessEntry) -> None:
        self._children.pop(child.name, None)

    def forked(self, child: ProcessEntry) -> None:
        self._pids[child.process.pid] = child

    def reaped(self, pid: int) -> ProcessEntry | None:
        """Remove the process; return its child."""
        return self._pids.pop(pid, None)

    def fds(self) -> list[int]:
        """The fork server's descriptors of its children."""
        found = []
        for child in self._children.values():
            # a closed one belongs to a process that has ended but is not reaped yet
            if child.process.uplink is not None and child.process.uplink.is_open:
                found.append(child.process.uplink.fileno())
            if child.process.blackbox is not None:
                found.append(child.process.blackbox.fd)
        return found

    def below(self, name: str) -> list[ProcessEntry]:
        """All names below that name."""
        found, names = [], {name}
        for child in self._children.values():
            if child.parent in names:
                names.add(child.name)
                found.append(child)
        return found

    def alive(self) -> list[ProcessEntry]:
        return [child for child in self._children.values() if child.alive]
