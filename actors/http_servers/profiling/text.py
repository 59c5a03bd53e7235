"""A profile as lines: `outer;inner;innermost value`, the largest first. Flame graph tools read them. Pure."""

from __future__ import annotations

from .stacks import Stack, StackProfile


def lines(profile: StackProfile) -> str:
    """The profile as lines, with the first of its values."""
    return "".join(f"{_collapse(stack)} {values[0]}\n" for stack, values in profile.samples.items())


def _collapse(stack: Stack) -> str:
    return ";".join(
        f"{frame.path.rpartition('/')[2]}:{frame.function}" if frame.path else frame.function
        for frame in reversed(stack)
    )
