"""Which pods of this shard may have anything on the node: those of a source, those of the runtime, those in quarantine.

Until the sources and the PLEG have spoken nobody knows, and nothing is ended or removed.
"""

from __future__ import annotations

from collections.abc import Iterable

from actors.shared.cri.model import PodRuntime


class PodInventory:
    """What is not in the hands of a pod worker, and what was told last."""

    def __init__(self) -> None:
        self.sources_ready = False
        self._runtime_known = False
        self._unclaimed: dict[str, PodRuntime] = {}
        """What the runtime has of pods that no source has named yet; judged once all have spoken."""
        self._unread: set[str] = set()
        """Pods of the runtime of which nothing but the name is known yet."""
        self._told: list[str] | None = None

    @property
    def complete(self) -> bool:
        """The sources and the PLEG have spoken."""
        return self.sources_ready and self._runtime_known

    @property
    def unread(self) -> frozenset[str]:
        return frozenset(self._unread)

    def runtime_listed(self, unread: Iterable[str]) -> None:
        """The PLEG has told all pods of the runtime, and of these no more than the UID."""
        self._runtime_known, self._unread = True, set(unread)

    def read(self, uid: str) -> None:
        """The PLEG has told of this pod."""
        self._unread.discard(uid)

    def claims(self, runtime: PodRuntime) -> bool:
        """Whether nobody may judge this pod of the runtime yet, or it is gone: it is kept until then."""
        if not (runtime.sandboxes or runtime.containers):
            self._unclaimed.pop(runtime.uid, None)
            return True
        if not self.sources_ready:
            self._unclaimed[runtime.uid] = runtime
            return True
        return False

    def sources_reported(self) -> list[PodRuntime]:
        """All sources have spoken; answers what was kept until then."""
        self.sources_ready = True
        kept, self._unclaimed = list(self._unclaimed.values()), {}
        return kept

    def forget_told(self) -> None:
        """Somebody is to be told anew."""
        self._told = None

    def news(self, uids: Iterable[str]) -> list[str] | None:
        """These and the unread, sorted, where that differs from what was told last; None: nothing is to be told."""
        if not self.complete:
            return None
        known = sorted(self._unread.union(uids))
        if known == self._told:
            return None
        self._told = known
        return known
