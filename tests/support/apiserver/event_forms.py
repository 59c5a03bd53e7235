"""Events are one collection with two forms: core/v1, as it is stored, and events.k8s.io/v1."""

from __future__ import annotations

from .objects import Obj
from .resources import EVENTS

_NAMES = {
    "regarding": "involvedObject",
    "note": "message",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
    "reportingController": "reportingComponent",
}
_BACK = {old: new for new, old in _NAMES.items()}


def to_core(event: Obj) -> Obj:
    return {**{_NAMES.get(key, key): value for key, value in event.items()}, "apiVersion": "v1"}


def to_events_group(event: Obj) -> Obj:
    return {**{_BACK.get(key, key): value for key, value in event.items()}, "apiVersion": f"{EVENTS}/v1"}
