"""The API server's pods of this node: which count, and which of their changes concern the pod workers.

The server has checked them; here they are read leniently. A pod that cannot be read, or is too large, is set aside and
logged; if it was good before, it goes on as it was.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from actors.shared.kube import codec
from actors.shared.kube.names import SOURCE_API
from actors.shared.kube.pods import is_mirror
from supervision.errors import UNREADABLE

from .errors import FieldError
from .limits import beyond_limits
from .merge import Candidate

ENDED = ("Succeeded", "Failed")


class Unreadable(msgspec.Struct, frozen=True):
    """A pod that cannot be read."""

    uid: str
    namespace: str
    name: str
    text: str


class _Meta(msgspec.Struct):
    uid: str = ""
    name: str = ""
    namespace: str = ""
    creationTimestamp: str | None = None
    labels: msgspec.Raw = msgspec.Raw()
    annotations: msgspec.Raw = msgspec.Raw()
    deletionTimestamp: msgspec.Raw = msgspec.Raw()
    deletionGracePeriodSeconds: msgspec.Raw = msgspec.Raw()


class _Status(msgspec.Struct):
    phase: msgspec.Raw = msgspec.Raw()


class _Parts(msgspec.Struct):
    """What of a pod concerns the pod workers; this node writes the rest of its status."""

    metadata: _Meta
    spec: msgspec.Raw = msgspec.Raw()
    status: msgspec.Raw = msgspec.Raw()


_parts = msgspec.json.Decoder(_Parts)
_status = msgspec.json.Decoder(_Status)


class _Known(msgspec.Struct):
    """A pod of the server: its last version, and what the pod workers get of it."""

    mark: tuple[bytes, ...]
    created: str
    """RFC 3339 in UTC: sorts as text."""
    candidate: Candidate


class ApiSource:
    """The pods by UID. `annotate` gives the JSON that workers get: with source and the time it was seen first."""

    def __init__(self, annotate: Callable[[str, bytes], bytes]) -> None:
        self._annotate = annotate
        self._known: dict[str, _Known] = {}
        self.unreadable: dict[str, tuple[bytes, Unreadable]] = {}
        """By UID: the pod as it came, and what is wrong."""
        self.synced = False
        """A list has come."""

    @property
    def candidates(self) -> list[Candidate]:
        """The oldest first: after a restart those that ran already are admitted before newer ones."""
        return [known.candidate for known in sorted(self._known.values(), key=lambda known: known.created)]

    def errors(self) -> list[str]:
        return [each.text for _, each in self.unreadable.values()]

    def full(self, pods: list[bytes]) -> list[Unreadable]:
        """All that there is; what is newly unreadable."""
        self.synced = True
        read = [(self._read(data), data) for data in pods]
        there = {parts.metadata.uid for parts, _ in read if parts is not None}
        for uid in (self._known.keys() | self.unreadable.keys()) - there:
            self._drop(uid)
        found = [self._put(parts, data) for parts, data in read if parts is not None]
        return [each for each in found if isinstance(each, Unreadable)]

    def change(self, uid: str, data: bytes) -> bool | Unreadable:
        """One pod, or (`data` empty) its end: whether it concerns the pod workers, or what is newly wrong with it."""
        parts = self._read(data) if data else None
        if parts is None:
            return self._drop(uid) if not data else False
        return self._put(parts, data)

    @staticmethod
    def _read(data: bytes) -> _Parts | None:
        try:
            return _parts.decode(data)
        except UNREADABLE:
            # no object with a name: there is nothing to report
            return None

    def _drop(self, uid: str) -> bool:
        self.unreadable.pop(uid, None)
        return self._known.pop(uid, None) is not None

    def _put(self, parts: _Parts, data: bytes) -> bool | Unreadable:
        meta, mark = parts.metadata, mark_of(parts)
        known = self._known.get(meta.uid)
        if known is not None and known.mark == mark:
            return False
        try:
            pod = codec.decode_pod(data)
            for error in beyond_limits(pod.spec):
                return self._set_aside(meta, data, error)
            mirror = is_mirror(pod)
            annotated = b"" if mirror else self._annotate(meta.uid, data)
        except (codec.ObjectError, AttributeError, TypeError) as error:
            return self._set_aside(meta, data, error)
        self.unreadable.pop(meta.uid, None)
        if mirror:
            # the server's picture of a static pod of ours
            return self._drop(meta.uid)
        candidate = Candidate(meta.uid, f"{meta.name}_{meta.namespace}", SOURCE_API, annotated)
        self._known[meta.uid] = _Known(mark, meta.creationTimestamp or "", candidate)
        return True

    def _set_aside(self, meta: _Meta, data: bytes, error: Exception | FieldError) -> bool | Unreadable:
        before = self.unreadable.get(meta.uid)
        text = f"pod {meta.name}_{meta.namespace} of the API server cannot be run, and is left as it was: {error}"
        found = Unreadable(meta.uid, meta.namespace, meta.name, text)
        self.unreadable[meta.uid] = (data, found)
        return found if before is None or before[1] != found else False


def mark_of(parts: _Parts) -> tuple[bytes, ...]:
    """Equal for two versions of a pod whose difference does not concern the pod workers."""
    meta = parts.metadata
    fields = (meta.labels, meta.annotations, meta.deletionTimestamp, meta.deletionGracePeriodSeconds, parts.spec)
    return (*(bytes(field) for field in fields), _ended(bytes(parts.status)))


def _ended(status: bytes) -> bytes:
    """The phase, if it is a final one: another client may have set it."""
    try:
        phase = msgspec.json.decode(bytes(_status.decode(status).phase), type=str)
    except UNREADABLE:
        return b""
    return phase.encode() if phase in ENDED else b""
