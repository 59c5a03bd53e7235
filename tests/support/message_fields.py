"""Fields of the agent's own types of API objects, and of the messages of these objects in protobuf."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

import msgspec
from google.protobuf.descriptor import Descriptor

from actors.shared.kube.protobuf.schema import is_inline


def _fields(descriptor: Descriptor) -> dict[str, Descriptor | None]:
    """Of JSON."""
    found: dict[str, Descriptor | None] = {}
    for field in descriptor.fields:
        inner = field.message_type
        found |= _fields(inner) if inner is not None and is_inline(field) else {field.name: inner}
    return found


def unnamed(struct: Any, descriptor: Descriptor, path: str) -> list[str]:
    """Fields of the type that the message does not have."""
    known, missing = _fields(descriptor), []
    hints = get_type_hints(struct)
    for field in msgspec.structs.fields(struct):
        name = field.encode_name
        if name not in known:
            missing.append(f"{path}.{name}")
            continue
        below = known[name]
        for part in (hints[field.name], *get_args(hints[field.name])):
            if isinstance(part, type) and issubclass(part, msgspec.Struct) and below is not None:
                missing += unnamed(part, below, f"{path}.{name}")
    return missing
