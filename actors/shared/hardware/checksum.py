"""The checksum of the kubelet's state files, over the text form that Go gives a value. Pure.

The text is that of spew without addresses, with sorted keys: `(*state.T){Name:(string)x List:([]int)[1 2]}`. The writer
of a file knows the types of its fields; this module has the common parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

_OFFSET: Final = 0x811C9DC5
_PRIME: Final = 0x01000193


def fnv1a_32(text: str | bytes, found: int = _OFFSET) -> int:
    """FNV-1a of the text's UTF-8 bytes. `found`: that of a text that this one continues."""
    for byte in text.encode() if isinstance(text, str) else text:
        found = ((found ^ byte) * _PRIME) & 0xFFFFFFFF
    return found


def list_text(items: Iterable[object]) -> str:
    """`[1 2]`."""
    return f"[{' '.join(map(str, items))}]"


def map_text(items: Mapping[str, str]) -> str:
    """`map[a:1 b:2]`, by the order of its keys."""
    return f"map[{' '.join(f'{key}:{items[key]}' for key in sorted(items))}]"
