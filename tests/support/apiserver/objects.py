"""API objects are dicts as JSON has them. What is stored is never changed, a copy is."""

from __future__ import annotations

import datetime
from typing import Any

import msgspec

Obj = dict[str, Any]


def copy(obj: Any) -> Any:
    """A deep copy of anything that came from JSON."""
    return msgspec.json.decode(msgspec.json.encode(obj))


def timestamp(seconds_from_now: float = 0.0) -> str:
    """RFC 3339, to the second, as metav1.Time is written."""
    moment = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=seconds_from_now)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def moment(text: str) -> datetime.datetime:
    """Of a timestamp, with or without a fraction."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def meta(obj: Obj) -> Obj:
    return obj.setdefault("metadata", {})  # type: ignore[no-any-return]


def dig(obj: Any, path: str, default: Any = None) -> Any:
    """The value at `a.b.c`, or the default."""
    for part in path.split("."):
        if not isinstance(obj, dict) or part not in obj:
            return default
        obj = obj[part]
    return obj
