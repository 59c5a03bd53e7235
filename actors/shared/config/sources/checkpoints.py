"""Configurations on disk: the assigned, the current and the last known good one. One directory, 0700.

    state.json            which is which, and the history
    <hash>.json           the layers of one configuration, as they were read
    requests/rollback     written by `supervise config rollback`, read by the config controller

A damaged file is never fatal; the config controller and the start rename it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import msgspec

from supervision.state_file import DamagedError, StateFile, read_private, write_private

from .documents import Document

VERSION: Final = 1
KEPT_HISTORY: Final = 100
KEPT_CONFIGURATIONS: Final = 20
REQUESTS: Final = "requests"
REQUEST: Final = f"{REQUESTS}/rollback"

DEATHS: Final = 3
"""The number of consecutive runs of the agent that must die during a trial for it to fail."""
What = Literal["applied", "accepted", "refused", "rolled back", "restored"]
T = TypeVar("T", bound=msgspec.Struct)


class HistoryEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An event in the life of the configuration."""

    when: float
    """Seconds since the epoch."""
    hash: str
    """The configuration; '' if it could not be read."""
    what: What
    detail: str = ""
    """The reason, the problems, or the fields that need a restart."""


class State(msgspec.Struct, frozen=True, kw_only=True):
    """The role of each configuration, by hash; '' for none."""

    assigned: str = ""
    """The configuration in the files (or the ConfigMap)."""
    current: str = ""
    """The current configuration."""
    last_known_good: str = ""
    """The last configuration that passed its trial, or to which an operator rolled back."""
    bad: tuple[str, ...] = ()
    """Configurations that were rolled back; they are not used again."""
    trial_until: float = 0.0
    """Seconds since the epoch at which `current` becomes the last known good; 0: no trial."""
    deaths: int = 0
    """The number of consecutive runs of the agent that died while `current` was on trial."""
    boot: str = ""
    """The identifier of the agent's run that wrote this."""
    orderly: bool = False
    """Whether that run was stopped in order."""
    source: dict[str, str] = {}
    """namespace, name, uid, resourceVersion and key of the ConfigMap that was assigned; empty for local files."""
    history: tuple[HistoryEntry, ...] = ()
    """Oldest first, bounded."""


class Layers(msgspec.Struct, frozen=True):
    """The documents of one configuration."""

    sources: tuple[str, ...]
    data: tuple[dict[str, Any], ...]
    lines: tuple[dict[str, int], ...]

    def documents(self) -> list[Document]:
        parts = zip(self.sources, self.data, self.lines, strict=True)
        return [Document(source, data, lines) for source, data, lines in parts]


def hash_of(documents: Sequence[Document]) -> str:
    """The name of a configuration: a digest of its layers without their paths."""
    canonical = msgspec.json.encode([document.data for document in documents], order="deterministic")
    return hashlib.sha256(canonical).hexdigest()[:16]


def layers_of(documents: Sequence[Document]) -> Layers:
    return Layers(
        tuple(document.source for document in documents),
        tuple(document.data for document in documents),
        tuple(document.lines for document in documents),
    )


class ConfigCheckpoints:
    """The directory. Reading never raises."""

    def __init__(self, directory: str, *, owned: bool = True) -> None:
        """`owned`: by this process, which renames damaged files; others only read."""
        self.directory, self._owned = Path(directory), owned
        self._damaged: list[str] = []

    def prepare(self) -> None:
        """Create the directories. A failure shows at the next write."""
        with suppress(OSError):
            (self.directory / REQUESTS).mkdir(mode=0o700, parents=True, exist_ok=True)

    def take_damaged(self) -> list[str]:
        """The names of the files that were damaged since the last call; an owner has renamed them."""
        damaged_files, self._damaged = self._damaged, []
        return damaged_files

    def state(self) -> State:
        return self._read("state.json", State) or State()

    def layers(self, name: str) -> Layers | None:
        """The layers of a configuration; None if they are missing or damaged."""
        found = self._read(f"{name}.json", Layers) if _is_hash(name) else None
        if found is None or hash_of(found.documents()) != name:
            return None
        return found

    def save(self, state: State) -> None:
        """Write the state, then delete unreferenced configurations. Raises OSError."""
        StateFile(self.directory / "state.json", State, VERSION).save(state)
        self._prune(state)

    def put(self, name: str, layers: Layers) -> None:
        """Store a configuration. Raises OSError."""
        if self.layers(name) is None:
            StateFile(self.directory / f"{name}.json", Layers, VERSION).save(layers)

    def request(self, name: str) -> None:
        """Request a rollback to `name` ('' for the last known good) from the running agent. Raises OSError."""
        write_private(self.directory / REQUEST, name.encode())

    def take_request(self) -> str | None:
        """Return the pending request and remove it; None if there is none."""
        path = self.directory / REQUEST
        try:
            text = read_private(path)[:64].decode(errors="replace").strip()
            path.unlink()
        except OSError:
            return None
        return text

    def _read(self, name: str, kind: type[T]) -> T | None:
        try:
            file = StateFile(self.directory / name, kind, VERSION)
            return file.load() if self._owned else file.read()
        except DamagedError:
            self._damaged.append(name)
        except OSError:
            pass
        return None

    def _prune(self, state: State) -> None:
        recent = [entry.hash for entry in state.history if entry.hash][-KEPT_CONFIGURATIONS:]
        kept = {state.assigned, state.current, state.last_known_good, *recent}
        for path in self.directory.glob("*.json"):
            if _is_hash(path.stem) and path.stem not in kept:
                with suppress(OSError):
                    path.unlink()


def _is_hash(name: str) -> bool:
    return len(name) == 16 and not set(name) - set("0123456789abcdef")


def instead_of(assigned: str, state: State) -> str:
    """The configuration to start with instead of the files' one; '' for the files' one.

    There is one if the files' configuration was rolled back, or if DEATHS consecutive runs died during its trial. A
    single death does not count: the run may have been killed, or the host may have lost power.
    """
    good = state.last_known_good
    if not good or good == assigned:
        return ""
    broke = state.current == assigned and trial_is_lost(state)
    return good if assigned in state.bad or broke else ""


def trial_is_lost(state: State) -> bool:
    """Whether the run that wrote `state` is the DEATHS-th in a row that died while `current` was on trial.

    To be asked by the next run only.
    """
    return state.trial_until > 0 and not state.orderly and state.deaths + 1 >= DEATHS
