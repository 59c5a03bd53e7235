"""Checks names, IDs and counts in the runtime's answers. Pure.

Names and UIDs become parts of paths. Neither this agent nor a kubelet uses one that is not valid in a path, so an
object with one is omitted. An invalid ID makes the whole answer invalid: RuntimeFailure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, Protocol, TypeVar

from .errors import RuntimeFailure

MAX_NAME_BYTES: Final = 255
MAX_ATTEMPT: Final = 10**9
"""The largest plausible restart count; a larger number is invalid. It would exceed the API's restartCount (int32) with
the next instances."""


class Identified(Protocol):
    @property
    def id(self) -> str: ...


T = TypeVar("T", bound=Identified)


def distinct(listed: Iterable[T]) -> list[T]:
    """Each ID once. An object that a runtime lists twice would count as two: as a sandbox beside the pod's own one,
    which is stopped again and again."""
    return list({one.id: one for one in listed}.values())


def has_labels(labels: Mapping[str, str], wanted: Mapping[str, str] | None) -> bool:
    """Whether an object fits the filter of a list. Without this check, a runtime that ignores the filter would have the
    containers of other pods stopped with one pod."""
    return all(labels.get(name) == value for name, value in (wanted or {}).items())


def _is_part(text: str) -> bool:
    """Whether it can be a name in a directory."""
    return text not in {"", ".", ".."} and not {"/", "\0"} & set(text) and len(text.encode()) <= MAX_NAME_BYTES


def part(text: str) -> str:
    """'' if it cannot be a part of a path."""
    return text if _is_part(text) else ""


def id_of(text: str) -> str:
    """Raises RuntimeFailure."""
    if not _is_part(text):
        raise RuntimeFailure("CRI", "DATA_LOSS", f"the runtime answers with the ID {text[:100]!r}")
    return text


def check_id(found: str, wanted: str) -> None:
    """Raises RuntimeFailure for an answer about another object, which would otherwise be applied to this one."""
    if found != wanted:
        raise RuntimeFailure("CRI", "DATA_LOSS", f"the runtime answers about {found}, but was asked about {wanted}")


def check_state(number: int, known: Collection[int]) -> None:
    """Raises RuntimeFailure for a state that CRI does not have. It would otherwise count as not running, and the pod's
    containers be stopped for it."""
    if number not in known:
        raise RuntimeFailure("CRI", "DATA_LOSS", f"the runtime answers with the state {number}")


def attempt_of(number: int) -> int:
    """0 for an implausible restart count."""
    return number if number <= MAX_ATTEMPT else 0
