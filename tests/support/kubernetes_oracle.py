"""The `kubernetes` package as an oracle: whether its models read an object of ours whole."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)\Z")


def read(model: str, found: Any) -> Any:
    """What the package's model `model` (V1Node, ...) keeps of an object: JSON data, without fields that are null."""
    from kubernetes import client

    kind = getattr(client, model)
    return plain(kind.model_validate(found).model_dump(by_alias=True, exclude_none=True, mode="json"))


def plain(value: Any) -> Any:
    """JSON data without nulls, and with one way of writing a time: the package writes others."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items() if one is not None}
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, str) and _TIME.match(value):
        return datetime.fromisoformat(value).timestamp()
    return value
