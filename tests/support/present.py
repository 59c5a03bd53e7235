"""A value that may be None in general, and is not where a test looks at it."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def present(value: T | None) -> T:
    """`value`; AssertionError if it is None."""
    assert value is not None
    return value
