"""The pods of the runtime as the PLEG has seen them: an immutable value that each look at the runtime replaces.

Pure. A relist shows what exists; a status call shows all of one pod.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from actors.shared.cri.model import PodRuntime
from actors.shared.cri.pod_lookup import ids

from .events import Listing, events


class RuntimeView(msgspec.Struct, frozen=True):
    """The runtime's pods at the last relist."""

    listing: Listing | None = None
    """What the last relist found; None before the first one. A pod whose status call failed is left out: the next
    relist sees it as new, and asks again."""
    uids: frozenset[str] = frozenset()
    """All pods of the last relist, and those of which only their status is to tell that they are gone."""
    pods: Mapping[str, PodRuntime] = {}
    """By UID: the pods among `uids` whose status is known."""
    failed: frozenset[str] = frozenset()
    """UIDs of the pods whose last status call failed."""
    relisted_at: float = 0.0
    """The start of the last complete relist, on the monotonic clock; 0.0: none yet."""


class Relist(msgspec.Struct, frozen=True):
    """The outcome of one relist."""

    view: RuntimeView
    changed: frozenset[str]
    """UIDs of the pods whose status must be read."""
    gone: frozenset[str]
    """UIDs of the pods that the runtime no longer has."""


def relisted(view: RuntimeView, listing: Listing) -> Relist:
    """The runtime has been listed. A pod of which a known sandbox or container is not listed is asked for with each
    relist, until its status agrees."""
    uids = frozenset(listed.uid for listed in listing.values()) | view.pods.keys()
    touched = {event.uid for event in events(view.listing or {}, listing)}
    touched |= {uid for uid, pod in view.pods.items() if not ids(pod) <= listing.keys()}
    # no event reports the end of a pod that was missing from the listing
    touched |= view.failed - uids
    after = msgspec.structs.replace(view, listing=listing, uids=uids, failed=view.failed & uids)
    return Relist(after, changed=frozenset(touched & uids), gone=frozenset(touched - uids))


def completed(view: RuntimeView, started_at: float) -> RuntimeView:
    """The relist with this start is complete: `relisted`, and at first the status calls, are stored."""
    return msgspec.structs.replace(view, relisted_at=started_at)


def answered(view: RuntimeView, pod: PodRuntime) -> RuntimeView:
    """Store the result of a status call: the pod's whole state, or that it is gone."""
    pods, uids = {uid: each for uid, each in view.pods.items() if uid != pod.uid}, view.uids
    if ids(pod):
        pods[pod.uid] = pod
    elif not any(listed.uid == pod.uid for listed in (view.listing or {}).values()):
        uids -= {pod.uid}
    return msgspec.structs.replace(view, pods=pods, uids=uids, failed=view.failed - {pod.uid})


def failed(view: RuntimeView, uid: str) -> RuntimeView:
    """The status call for this pod has failed."""
    listing = {key: listed for key, listed in (view.listing or {}).items() if listed.uid != uid}
    return msgspec.structs.replace(view, listing=listing, failed=view.failed | {uid})


def of_uids(view: RuntimeView, uids: frozenset[str]) -> tuple[list[PodRuntime], list[str]]:
    """The pods of these UIDs in the runtime: the known ones, and the UIDs of those whose status is not known yet."""
    present = sorted(uids & view.uids)
    return [view.pods[uid] for uid in present if uid in view.pods], [uid for uid in present if uid not in view.pods]
