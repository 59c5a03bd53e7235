"""The API server as a pod source: the pods of this node, and the changes that the pod workers need.

The API server has validated the pods, so unknown fields are accepted here. A pod that cannot be decoded, is too large,
or would end an actor or leave its directories by a value, is rejected and logged; its last valid version stays.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from itertools import chain
from typing import Final, NamedTuple

import msgspec

from actors.shared.kube import codec
from actors.shared.kube.names import SOURCE_API
from actors.shared.kube.pods import TERMINAL_PHASES, is_mirror
from supervision.errors import UNREADABLE

from ..pods.merged_pods import PodCandidate
from ..validation.errors import FieldError
from ..validation.limits import beyond_limits
from ..validation.numbers import numbers_out_of_range
from ..validation.path_names import unusable_names
from ..validation.quantities import unreadable_quantities


class InvalidPod(msgspec.Struct, frozen=True):
    """A pod that is rejected; `text` has the reason."""

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
    resourceClaimStatuses: msgspec.Raw = msgspec.Raw()
    extendedResourceClaimStatus: msgspec.Raw = msgspec.Raw()


class _PodFields(msgspec.Struct):
    """The fields of a pod that the pod workers need; this node writes the rest of the status."""

    metadata: _Meta
    spec: msgspec.Raw = msgspec.Raw()
    status: msgspec.Raw = msgspec.Raw()


_pod_decoder = msgspec.json.Decoder(_PodFields)
_status_decoder = msgspec.json.Decoder(_Status)


class _ApiPod(msgspec.Struct):
    """A pod of the API server: the digest of the relevant fields of its last version, and what the pod workers get."""

    digest: bytes
    created: str
    """RFC 3339 in UTC: sorts as text."""
    candidate: PodCandidate


class PodChange(NamedTuple):
    """What a new version of a pod changes."""

    needed: bool = False
    """The pod workers need the change."""
    invalid: InvalidPod | None = None
    """The pod, if this version makes it invalid, or invalid in another way."""


_UNCHANGED: Final = PodChange()


class ApiSource:
    """The pods by UID. `annotate` returns the JSON for the workers: with its source and first-seen time."""

    def __init__(self, annotate: Callable[[str, bytes], bytes]) -> None:
        self._annotate = annotate
        self._pods: dict[str, _ApiPod] = {}
        self.invalid: dict[str, tuple[bytes, InvalidPod]] = {}
        """By UID: the pod's JSON, and the error."""
        self.synced = False
        """The first list has arrived."""

    @property
    def candidates(self) -> list[PodCandidate]:
        """Sorted by age, oldest first: after a restart, pods that already run are admitted before newer ones."""
        return [known.candidate for known in sorted(self._pods.values(), key=lambda known: known.created)]

    def errors(self) -> list[str]:
        return [each.text for _, each in self.invalid.values()]

    def listed(self, pods: list[bytes], others: Collection[str] = (), *, more: bool = False) -> list[InvalidPod]:
        """Replace all pods with this list, but those of the UIDs `others`; or only add it, when `more` follows. Returns
        the newly invalid ones."""
        read = [(self._read(data), data) for data in pods]
        if not more:
            self.synced = True
            listed = {pod_fields.metadata.uid for pod_fields, _ in read if pod_fields is not None}
            for uid in (self._pods.keys() | self.invalid.keys()) - listed - set(others):
                self._drop(uid)
        results = [self._put(pod_fields, data) for pod_fields, data in read if pod_fields is not None]
        return [each.invalid for each in results if each.invalid is not None]

    def update(self, uid: str, data: bytes) -> PodChange:
        """Add or change one pod; remove it when `data` is empty."""
        if not data:
            return PodChange(needed=self._drop(uid))
        pod_fields = self._read(data)
        return self._put(pod_fields, data) if pod_fields is not None else _UNCHANGED

    @staticmethod
    def _read(data: bytes) -> _PodFields | None:
        try:
            return _pod_decoder.decode(data)
        except UNREADABLE:
            # without metadata there is no pod to report
            return None

    def _drop(self, uid: str) -> bool:
        self.invalid.pop(uid, None)
        return self._pods.pop(uid, None) is not None

    def _put(self, pod_fields: _PodFields, data: bytes) -> PodChange:
        meta, digest = pod_fields.metadata, _digest(relevant_fields(pod_fields))
        known = self._pods.get(meta.uid)
        if known is not None and known.digest == digest:
            self.invalid.pop(meta.uid, None)
            return _UNCHANGED
        try:
            pod = codec.decode_pod(data)
            wrong = chain(
                beyond_limits(pod.spec), unusable_names(pod), unreadable_quantities(pod), numbers_out_of_range(pod)
            )
            for error in wrong:
                return self._reject(meta, data, error)
            mirror = is_mirror(pod)
            annotated = b"" if mirror else self._annotate(meta.uid, data)
        except (*UNREADABLE, AttributeError, TypeError) as error:
            return self._reject(meta, data, error)
        self.invalid.pop(meta.uid, None)
        if mirror:
            # a mirror pod: it represents a static pod of this node, and is not run
            return PodChange(needed=self._drop(meta.uid))
        candidate = PodCandidate(meta.uid, f"{meta.name}_{meta.namespace}", SOURCE_API, annotated)
        self._pods[meta.uid] = _ApiPod(digest, meta.creationTimestamp or "", candidate)
        return PodChange(needed=True)

    def _reject(self, meta: _Meta, data: bytes, error: Exception | FieldError) -> PodChange:
        before = self.invalid.get(meta.uid)
        pod = f"pod {meta.name}_{meta.namespace} of the API server"
        text = f"{pod} cannot be run (its last valid version, if any, stays): {error}"
        invalid = InvalidPod(meta.uid, meta.namespace, meta.name, text)
        self.invalid[meta.uid] = (data, invalid)
        return PodChange(invalid=invalid if before is None or before[1] != invalid else None)


def relevant_fields(pod_fields: _PodFields) -> tuple[bytes, ...]:
    """The fields that the pod workers need. Equal for two versions of a pod that are the same to them."""
    meta = pod_fields.metadata
    fields = (meta.labels, meta.annotations, meta.deletionTimestamp, meta.deletionGracePeriodSeconds, pod_fields.spec)
    return (*(bytes(field) for field in fields), *_foreign_status(bytes(pod_fields.status)))


def _digest(fields: tuple[bytes, ...]) -> bytes:
    """The fields themselves would double the memory of large pods."""
    found = hashlib.blake2b(digest_size=16)
    for field in fields:
        found.update(len(field).to_bytes(8, "little"))
        found.update(field)
    return found.digest()


def _foreign_status(raw: bytes) -> tuple[bytes, bytes, bytes]:
    """The fields of the status that others write: the phase if it is final, else b''; the resource claims that were
    made for the pod. A pod without a status has the same as one whose status has none of them."""
    try:
        status = _status_decoder.decode(raw)
        phase = msgspec.json.decode(bytes(status.phase) or b'""', type=str)
    except UNREADABLE:
        return b"", b"", b""
    claims = (bytes(status.resourceClaimStatuses), bytes(status.extendedResourceClaimStatus))
    return (phase.encode() if phase in TERMINAL_PHASES else b"", *claims)
