"""The files of the node's state, each with a copy in the run directory.

The agent reads these files at its start, as the kubelet does, and does not start with a damaged one. An actor that is
started again while the agent runs goes on from the copy: what somebody has done to the file since then ends no agent,
and nothing that was given to a container is given again.
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
    """Where the files are. `again`: the actor was started again while the agent runs."""

    def __init__(self, root_dir: str, run_dir: str, log: Log = _LOG, *, again: bool = False) -> None:
        self.root_dir, self.log, self.again = root_dir, log, again
        self._copies = Path(run_dir, COPIES)

    @classmethod
    def of(cls, actor: Actor, agent: Agent) -> StateFiles:
        """The state files of the agent, for this actor."""
        return cls(agent.root_dir, agent.run_dir, actor.log, again=actor.incarnation > 1)

    def file(self, name: str) -> CopiedFile:
        """`name`: below the root directory."""
        path = Path(self.root_dir, name)
        return CopiedFile(self, path, self._copies / path.name)


class CopiedFile:
    """One of them, with its copy."""

    def __init__(self, files: StateFiles, path: Path, copy: Path) -> None:
        self.path = path
        self._files, self._copy = files, copy

    def begin(self) -> None:
        """To be called by the actor that writes the file, before it is read. A new agent copies it; in an actor that
        was started again, a file that is not the copy is written again. Raises OSError if that fails."""
        if not self._files.again:
            self._write_copy(self._content(self.path))
            return
        kept = self._content(self._copy)
        if kept is not None and kept != self._content(self.path):
            write_private(self.path, kept, sync=False)
            self._files.log.warning("%s has been changed while the agent runs: it is written again", self.path)

    def newest(self) -> Path:
        """What an actor that does not write the file is to read: `begin` may be under way in the one that does."""
        return self._copy if self._files.again and self._copy.exists() else self.path

    def write(self, data: bytes, *, sync: bool = False) -> None:
        """Replace the file. Raises OSError, and the file stays as it was."""
        self._write_copy(data)
        try:
            write_private(self.path, data, sync=sync)
        except OSError:
            self._write_copy(None)
            raise

    def _write_copy(self, data: bytes | None) -> None:
        """Replace the copy, or remove it: a copy that is older than the file would be worse than none."""
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
