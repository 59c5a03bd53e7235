"""The pod inventory of this shard: the pods of a source, of the runtime, and in quarantine.

It is incomplete until the sources and the PLEG have reported; until then nothing is stopped or removed.
"""

from __future__ import annotations

from collections.abc import Iterable

from actors.shared.cri.model import PodRuntime


class ShardInventory:
    """The pods without a pod worker, and the last reported inventory."""

    def __init__(self) -> None:
        self.sources_ready = False
        self._is_scheduled = False
        """Whether a report is due once all that has arrived is handled."""
        self._runtime_known = False
        self._unclaimed: dict[str, PodRuntime] = {}
        """The runtime's data of pods without a source yet; decided once all sources have reported."""
        self._unread: set[str] = set()
        """Pods of the runtime known by UID only."""
        self._reported: list[str] | None = None

    @property
    def complete(self) -> bool:
        """Whether the sources and the PLEG have reported."""
        return self.sources_ready and self._runtime_known

    @property
    def unread(self) -> frozenset[str]:
        return frozenset(self._unread)

    def runtime_listed(self, unread: Iterable[str]) -> None:
        """The PLEG has listed all pods of the runtime; of these only the UID is known."""
        self._runtime_known, self._unread = True, set(unread)

    def read(self, uid: str) -> None:
        """The PLEG has reported this pod."""
        self._unread.discard(uid)

    def claims(self, runtime: PodRuntime) -> bool:
        """Keep the runtime's pod until the sources have reported. Returns whether it is kept (or is gone)."""
        if not (runtime.sandboxes or runtime.containers):
            self._unclaimed.pop(runtime.uid, None)
            return True
        if not self.sources_ready:
            self._unclaimed[runtime.uid] = runtime
            return True
        return False

    def sources_reported(self) -> list[PodRuntime]:
        """All sources have reported; returns the pods kept until then."""
        self.sources_ready = True
        kept, self._unclaimed = list(self._unclaimed.values()), {}
        return kept

    def report_due(self) -> bool:
        """A report becomes due. Returns whether none was."""
        before, self._is_scheduled = self._is_scheduled, True
        return not before

    def report_again(self) -> None:
        """Report the inventory again at the next change check."""
        self._reported = None

    def news(self, uids: Iterable[str]) -> list[str] | None:
        """The sorted inventory if it differs from the last report; None if there is nothing to report. No report is due
        any more."""
        self._is_scheduled = False
        if not self.complete:
            return None
        known = sorted(self._unread.union(uids))
        if known == self._reported:
            return None
        self._reported = known
        return known
