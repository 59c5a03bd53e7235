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
