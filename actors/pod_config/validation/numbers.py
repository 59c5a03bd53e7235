"""Numbers in a pod from the API server that no system call or message takes. It refuses such a pod; one that gets here
all the same would end every actor that passes them on. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from actors.shared.kube.pod import Pod

from .errors import FieldError

_ANY: Final = (-(1 << 63), (1 << 63) - 1)
_ID: Final = (0, (1 << 31) - 1)
_MODE: Final = (0, 0o777)
_RANGES: Final = {
    "runAsUser": _ID, "runAsGroup": _ID, "fsGroup": _ID, "supplementalGroups": _ID, "mode": _MODE, "defaultMode": _MODE,
}  # fmt: skip
"""The smallest and the largest number of a field, wherever it is."""
_OTHERS: Final = (str, msgspec.Raw, bool)
"""Types of fields without numbers."""


def numbers_out_of_range(pod: Pod) -> Iterator[FieldError]:
    """An error for each."""
    for path, field, number in _numbers("", "", pod):
        low, high = _RANGES.get(field, _ANY)
        if not low <= number <= high:
            yield FieldError(path, f"{number} is not between {low} and {high}")


def _numbers(path: str, field: str, value: Any) -> Iterator[tuple[str, str, int]]:
    """Path, innermost name and value of each whole number."""
    if isinstance(value, int):
        yield path, field, value
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            item = getattr(value, name)
            if item is not None and not isinstance(item, _OTHERS):
                yield from _numbers(f"{path}.{name}" if path else name, name, item)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _numbers(f"{path}[{name}]", field, item)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _numbers(f"{path}[{index}]", field, item)
