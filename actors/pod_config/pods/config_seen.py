"""Pods as the workers get them: with the time when this node first saw each one in the annotations, and without fields
whose gate is off.

For a file the time is that of the file's last change, so that a restart of the agent does not change it.
"""

from __future__ import annotations

import time
from collections.abc import Collection

import msgspec

from actors.shared.kube import codec
from actors.shared.kube.names import CONFIG_SOURCE, SOURCE_API
from actors.shared.kube.times import nano_time

from ..manifests.identity import mark_seen
from .gated_fields import Gate, without_gated_fields


class SeenTimes:
    """The annotated JSON by UID; it is encoded again only when the pod changes."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._times: dict[str, str] = {}
        self._cache: dict[str, tuple[bytes, bytes]] = {}

    def static(self, uid: str, data: bytes, changed_ns: int) -> bytes:
        """The pod with its time; `changed_ns` (nanoseconds since 1970) is the time of a new pod."""
        return self._annotate_cached(uid, data, changed_ns, {})

    def api(self, uid: str, data: bytes) -> bytes:
        """A pod of the API server with its source and its time."""
        return self._annotate(uid, data, time.time_ns(), {CONFIG_SOURCE: SOURCE_API})

    def _annotate_cached(self, uid: str, data: bytes, now_ns: int, annotations: dict[str, str]) -> bytes:
        cached = self._cache.get(uid)
        if cached is not None and cached[0] == data:
            return cached[1]
        annotated = self._annotate(uid, data, now_ns, annotations)
        self._cache[uid] = (data, annotated)
        return annotated

    def _annotate(self, uid: str, data: bytes, now_ns: int, annotations: dict[str, str]) -> bytes:
        pod = msgspec.json.decode(data)
        meta = pod.setdefault("metadata", {})
        meta["annotations"] = {**(meta.get("annotations") or {}), **annotations}
        without_gated_fields(pod, self._gate)
        mark_seen(pod, self._times.setdefault(uid, nano_time(now_ns)))
        return codec.encode(pod)

    def keep(self, uids: Collection[str]) -> None:
        """Forget all pods but these."""
        for uid in [uid for uid in self._times if uid not in uids]:
            del self._times[uid]
            self._cache.pop(uid, None)
