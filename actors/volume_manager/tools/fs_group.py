"""Ownership of a volume by the pod's fsGroup."""

from __future__ import annotations

from typing import Final

from .disposable_calls import DisposableCalls

OWNERSHIP_SECONDS: Final = 100.0
"""For a volume with many files."""
_APPLY: Final = "actors.volume_manager.host.ownership:give_to_group"


class FsGroup:
    """Changes the files in a disposable process."""

    def __init__(self, calls: DisposableCalls) -> None:
        self._calls = calls

    async def apply(self, path: str, group: int, on_root_mismatch: bool) -> str:
        """Give all files at `path` to the group; `on_root_mismatch`: only when the top is not the group's yet.

        '' or the error's text.
        """
        arguments = {"path": path, "group": group, "when_root_differs": on_root_mismatch}
        return await self._calls.run(path, _APPLY, arguments, deadline=OWNERSHIP_SECONDS)
