"""Which siblings a failure takes with it: one_for_one, one_for_all, rest_for_one. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from .spec import Strategy


def group(strategy: Strategy, children: Sequence[str], failed: str) -> tuple[str, ...]:
    """Who is started again when `failed` fails, in start order, itself included; those alive are stopped first."""
    if strategy == "one_for_one":
        return (failed,)
    if strategy == "one_for_all":
        return tuple(children)
    return tuple(children[children.index(failed) :])


def stop_order(strategy: Strategy, children: Sequence[str], failed: str) -> tuple[str, ...]:
    """Who is stopped when `failed` has ended, in the order they are stopped: the reverse of the start order."""
    return tuple(name for name in reversed(group(strategy, children, failed)) if name != failed)
