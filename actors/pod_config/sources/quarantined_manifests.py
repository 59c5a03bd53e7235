"""The manifests on which pod workers ended again and again, until they change."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class _Quarantined(NamedTuple):
    data: bytes
    """The pod, as its source gave it."""
    from_api: bool
    text: str
    """The error of its source."""


class QuarantinedManifests:
    """Known from the pod workers, which do not handle these pods. By UID of the pod."""

    def __init__(self) -> None:
        self._manifests: dict[str, _Quarantined] = {}

    def __len__(self) -> int:
        return len(self._manifests)

    def add(self, uid: str, data: bytes, text: str, *, from_api: bool) -> bool:
        """Whether the pod had none yet."""
        is_new = uid not in self._manifests
        self._manifests[uid] = _Quarantined(data, from_api, text)
        return is_new

    def forget_changed(self, current: Callable[[str], bytes | None]) -> None:
        """Forget manifests that are no longer the current manifest of their pod. `current`: the manifest by UID."""
        self._manifests = {uid: one for uid, one in self._manifests.items() if current(uid) == one.data}

    def errors(self, *, from_api: bool) -> list[str]:
        """The errors of the API server's pods, or of static pods."""
        return [one.text for one in self._manifests.values() if one.from_api is from_api]
