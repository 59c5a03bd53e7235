"""What a driver has begun with containers and must neither forget nor do twice, by the ids of the containers.

It is lost with its worker: the next one judges by what the runtime says.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet


class Unfinished:
    """Of one pod."""

    def __init__(self) -> None:
        self.pre_stop: set[str] = set()
        """Their hook was begun; however often their end is tried, it is not run again."""
        self.told: set[str] = set()
        """Users were told of their end."""
        self.post_start: set[str] = set()
        """Their hook was not run to its end, or their start was not answered and may have come about."""
        self.renewed: set[str] = set()
        """They are ended in order to be begun anew, whatever they exit with."""

    def keep(self, ids: AbstractSet[str]) -> None:
        """Forget all others: the runtime has them no more."""
        self.pre_stop &= ids
        self.told &= ids
        self.post_start &= ids
        self.renewed &= ids
