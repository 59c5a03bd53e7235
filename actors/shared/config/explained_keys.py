"""The keys of maps of the configuration that have fixed keys; and the field that a typed path refers to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from .feature_gates import GATES
from .fields.eviction import SIGNALS
from .fields.resources import RESERVABLE
from .validation.resource_checks import CPU_OPTIONS, TOPOLOGY_OPTIONS

KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "featureGates": tuple(GATES),
    "cpuManagerPolicyOptions": tuple(CPU_OPTIONS),
    "topologyManagerPolicyOptions": TOPOLOGY_OPTIONS,
    "qosReserved": ("memory",),
    "systemReserved": RESERVABLE,
    "kubeReserved": RESERVABLE,
    "evictionHard": SIGNALS,
    "evictionSoft": SIGNALS,
    "evictionSoftGracePeriod": SIGNALS,
    "evictionMinimumReclaim": SIGNALS,
}
_INDEX: Final = re.compile(r"\[\d*\]")
_LAST_INDEX: Final = re.compile(r"\[\d*\]\Z")


class NamedField(NamedTuple):
    """The field that a path refers to."""

    path: str
    """The documented path: `registerWithTaints[].key`."""
    inside: str
    """The key of a map, or `[]` of a list, whose field `path` is; empty: the field itself."""


def find(name: str, kinds: Mapping[str, str]) -> NamedField | None:
    """The field of a path, with or without its indices: `registerWithTaints[0].key`, `evictionHard.memory.available`.

    `kinds`: the kind of each documented path, such as `map to text`. None: there is no such field.
    """
    documented = {_INDEX.sub("", path): path for path in kinds}
    plain = _INDEX.sub("", name)
    if plain in documented:
        path = documented[plain]
        element = bool(_LAST_INDEX.search(name)) and kinds[path].startswith("list")
        return NamedField(path, "[]" if element else "")
    for at in (found.start() for found in re.finditer(r"\.", plain)):
        path, key = documented.get(plain[:at], ""), plain[at + 1 :]
        if path and kinds[path].startswith("map") and key and key in KEYS.get(path, (key,)):
            return NamedField(path, key)
    return None


def names(kinds: Mapping[str, str]) -> dict[str, str]:
    """All paths and keys, and ends of paths, each with the full path."""
    ends: dict[str, str] = {}
    for path in kinds:
        for at in re.finditer(r"\.", path):
            ends.setdefault(path[at.end() :], path)
    keys = {f"{path}.{key}": f"{path}.{key}" for path, found in KEYS.items() for key in found}
    return {**ends, **keys, **{path: path for path in kinds}}
