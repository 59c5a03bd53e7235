"""Decodes plain data into the configuration types and collects every problem with its field path.

An invalid field keeps its default, so that the rules can still check the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

from actors.shared.config.errors import ConfigProblem, shown_at
from actors.shared.config.fields.duration import Duration, DurationError
from supervision.documents.strict import BAD, Checker, Schema

S = TypeVar("S", bound=msgspec.Struct)

_INT64: Final = frozenset({"maxOpenFiles", "podPidsLimit", "idsPerPod", "shutdownGracePeriodSeconds"})
_NANOSECONDS: Final = frozenset({"logging.flushFrequency"})
"""Durations that may also be integers."""
_IGNORED: Final = {"logging.sanitization": "log sanitization was removed in 1.24"}
"""Fields of older versions that are ignored with a warning, and why."""


def decode(
    kind: type[S],
    data: Any,
    source_of: Callable[[str], str],
    problems: list[ConfigProblem],
    warnings: list[str],
    *,
    lenient: bool = False,
) -> S:
    """Decode an object. Errors are added to `problems`. `lenient`: an unknown field is a warning."""

    def wrong(path: str, value: Any, rule: str) -> None:
        problems.append(ConfigProblem(path, "" if value is BAD else shown_at(path, value), rule, source_of(path)))

    def unknown(path: str, rule: str) -> None:
        if path in _IGNORED:
            warnings.append(f"{path} is ignored: {_IGNORED[path]}")
        elif lenient:
            warnings.append(f"{path} is ignored: {rule} ({source_of(path)})")
        else:
            wrong(path, BAD, rule)

    result = Checker(_SCHEMA, wrong, unknown).check(kind, data)
    return kind() if result is BAD else result


def _duration(path: str, value: Any) -> Duration:
    """Raises DurationError."""
    if type(value) is int and path in _NANOSECONDS and abs(value) < 1 << 63:
        return Duration.of_nanoseconds(value)
    if not isinstance(value, str):
        raise DurationError("must be a duration in quotes, such as 1m30s")
    return Duration.parse(value)


def _bits(path: str, members: tuple[Any, ...]) -> int:
    return 63 if path.rpartition(".")[2] in _INT64 or str in members else 31


_SCHEMA: Final = Schema({Duration: _duration}, _bits, lambda kind, fields: kind(**fields))
