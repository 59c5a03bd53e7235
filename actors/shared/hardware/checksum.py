"""The text form that Go gives a value: the checksums of the kubelet's state files are hashes of it. Pure.

The text is the output of Go's spew, without addresses and with sorted keys: `(*state.T){Name:(string)x List:([]int)[1
2]}`. The writer of a file knows the types of its fields; this module has the common parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def list_text(items: Iterable[object]) -> str:
    """`[1 2]`."""
    return f"[{' '.join(map(str, items))}]"


def map_text(items: Mapping[str, str]) -> str:
    """`map[a:1 b:2]`, by the order of its keys."""
    return f"map[{' '.join(f'{key}:{items[key]}' for key in sorted(items))}]"
