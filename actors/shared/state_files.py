"""The files of the node's state, each with a copy in the run directory.

The agent reads these files at its start, as the kubelet does, and does not start with a damaged one. An actor that
restarts while the agent runs continues from the copy. So a change of the file by another program does not stop the
agent, and nothing is allocated twice.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

from actors.shared.config.agent import Agent
from supervision.actor import Actor
from supervision.state_file import read_private, write_private

COPIES: Final = "state"
"""The directory of the copies, below the run directory."""
Log: TypeAlias = "logging.Logger | logging.LoggerAdapter[logging.Logger]"
_LOG: Final = logging.getLogger(__name__)


class StateFiles:
    """The directories of the files. `again`: the actor has restarted while the agent runs."""

    def __init__(self, root_dir: str, run_dir: str, log: Log = _LOG, *, again: bool = False) -> None:
        self.root_dir, self.log, self.again = root_dir, log, again
        self.copies = Path(run_dir, COPIES)

    @classmethod
    def of(cls, actor: Actor, agent: Agent) -> StateFiles:
        """The state files of the agent, for this actor."""
        return cls(agent.root_dir, agent.run_dir, actor.log, again=actor.incarnation > 1)

    def file(self, name: str) -> CopiedFile:
        """`name`: below the root directory."""
        path = Path(self.root_dir, name)
        return CopiedFile(self, path, self.copies / path.name)


class CopiedFile:
    """A state file, with its copy."""

    def __init__(self, files: StateFiles, path: Path, copy: Path) -> None:
        self.path = path
        self._files, self._copy = files, copy
        self._written: bytes | None = None
        """The content that was written last; None: nothing yet."""

    def prepare(self) -> None:
        """Called by the actor that writes the file, before it reads it. A new agent makes the copy; a restarted actor
        restores the file from the copy if they differ, as far as the disk lets it: it reads `newest`."""
        if not self._files.again:
            self._write_copy(self._content(self.path))
            return
        kept = self._content(self._copy)
        if kept is not None and kept != self._content(self.path):
            text = "%s has been changed while the agent runs, or cannot be read: it is written again"
            self._files.log.warning(text, self.path)
            with suppress(OSError):  # `supervise status` names it
                write_private(self.path, kept, sync=False)

    def newest(self) -> Path:
        """The file to read: the copy for an actor that has restarted, if there is one."""
        return self._copy if self._files.again and self._copy.exists() else self.path

    def write(self, data: bytes, *, sync: bool = False) -> None:
        """Replace the file. If it raises OSError, the file is unchanged."""
        self._write_copy(data)
        try:
            write_private(self.path, data, sync=sync)
        except OSError:
            self._write_copy(self._content(self.path) if self._written is None else self._written)
            raise
        self._written = data

    def has(self, data: bytes) -> bool:
        """Whether this is its content, by the copy for an actor that has restarted."""
        return self._content(self.newest()) == data

    def _write_copy(self, data: bytes | None) -> None:
        """Replace the copy, or remove it: an outdated copy would be worse than none."""
        with suppress(OSError):
            if data is not None:
                write_private(self._copy, data, sync=False)
                return
        with suppress(OSError):
            self._copy.unlink(missing_ok=True)

    @staticmethod
    def _content(path: Path) -> bytes | None:
        try:
            return read_private(path)
        except OSError:
            return None
