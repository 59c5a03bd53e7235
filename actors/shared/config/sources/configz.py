"""The configuration as /configz shows it: JSON of the kubelet's v1beta1 types. Pure. A field without a value is
omitted. A zero is shown if the API distinguishes it from "not given" (pointers and durations), else omitted. An object
without fields stays: `"memorySwap": {}`. A quantity that is written as a number is shown as text, as clients expect.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from actors.shared.config.fields.groups import Group
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration

ZERO_IS_LEFT_OUT: Final = frozenset({
    "readOnlyPort", "rotateCertificates", "serverTLSBootstrap", "enableContentionProfiling", "podsPerCore",
    "evictionMaxPodGracePeriod", "protectKernelDefaults", "kernelMemcgNotification", "runOnce",
    "logging.options.text.splitStream", "logging.options.json.splitStream",
})  # fmt: skip
"""Paths of numbers and booleans that are not pointers in the API and whose default is zero."""
QUANTITY: Final = "infoBufferSize"
"""The one field that is a quantity itself; the others are in maps by resource."""
SHOWN_EMPTY: Final = frozenset({"resolvConf", "tracing.endpoint"})
"""Paths of texts that are pointers in the API."""


def written(config: KubeletConfiguration) -> dict[str, Any]:
    """Plain JSON data."""
    return _fields(config, "")


def _fields(group: Group, owner: str) -> dict[str, Any]:
    """`owner`: the path of the object and a dot; '' for the whole configuration."""
    found: dict[str, Any] = {}
    for name in group.__struct_fields__:
        value, path = getattr(group, name), f"{owner}{name}"
        if isinstance(value, Group):
            found[name] = _fields(value, f"{path}.")
        elif _is_shown(value, path):
            found[name] = str(value) if name == QUANTITY else _plain(value)
    return found


def _is_shown(value: object, path: str) -> bool:
    if isinstance(value, int | float):
        return bool(value) or path not in ZERO_IS_LEFT_OUT
    return bool(value) or (value is not None and path in SHOWN_EMPTY)


def _plain(value: object) -> Any:
    """In objects of a list, texts without a value are omitted."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: str(item) if type(item) is int else _plain(item) for name, item in value.items()}
    found = msgspec.to_builtins(value, enc_hook=str)
    if isinstance(value, Group):
        return {name: _plain(item) for name, item in found.items() if item is not None and item != ""}
    return found
