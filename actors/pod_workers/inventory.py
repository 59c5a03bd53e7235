"""The shard's pods that have no pod worker.

It is incomplete until the sources and the PLEG have reported; until then nothing is stopped or removed, but static pods
whose sources have reported.
"""

from __future__ import annotations

from collections.abc import Iterable

from actors.shared.cri.model import PodRuntime
from actors.shared.kube.names import CONFIG_SOURCE, SOURCE_API


class ShardInventory:
    """The pods without a pod worker."""

    def __init__(self) -> None:
        self.sources_ready = self._static_ready = False
        self._runtime_known = False
        self._unclaimed: dict[str, PodRuntime] = {}
        """The runtime's data of pods without a source yet; decided once all sources have reported."""
        self._unread: set[str] = set()
        """Pods of the runtime known by UID only."""

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
        """Keep the runtime's pod until the sources have reported. Returns whether it is kept, or is gone from the
        runtime."""
        if not (runtime.sandboxes or runtime.containers):
            self._unclaimed.pop(runtime.uid, None)
            return True
        if not (self.sources_ready or (self._static_ready and _is_static(runtime))):
            self._unclaimed[runtime.uid] = runtime
            return True
        return False

    def sources_reported(self) -> list[PodRuntime]:
        """All sources have reported; returns the pods kept until then."""
        self.sources_ready = True
        kept, self._unclaimed = list(self._unclaimed.values()), {}
        return kept

    def static_sources_reported(self) -> list[PodRuntime]:
        """The sources of static pods have reported; returns the static pods kept until then."""
        self._static_ready = True
        static = [runtime for runtime in self._unclaimed.values() if _is_static(runtime)]
        for runtime in static:
            del self._unclaimed[runtime.uid]
        return static


def _is_static(runtime: PodRuntime) -> bool:
    """Whether the pod came from a file or URL, by the annotation that both this agent and the kubelet give it."""
    return any(one.annotations.get(CONFIG_SOURCE, SOURCE_API) != SOURCE_API for one in runtime.sandboxes)
