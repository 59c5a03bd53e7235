"""The restart strategies one_for_one, one_for_all and rest_for_one. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ..spec import Strategy


def group(strategy: Strategy, children: Sequence[str], failed: str) -> tuple[str, ...]:
    """The children to restart when `failed` fails, in start order, itself included. The running ones are stopped
    first."""
    if strategy == "one_for_one":
        return (failed,)
    if strategy == "one_for_all":
        return tuple(children)
    return tuple(children[children.index(failed) :])
