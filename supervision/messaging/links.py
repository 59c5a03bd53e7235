"""The links of one sender, one to each receiver."""

from __future__ import annotations

from .link import Link, LinkOwner


class Links:
    """Made as messages to new receivers are sent."""

    def __init__(self, owner: LinkOwner) -> None:
        self._owner = owner
        self._by_name: dict[str, Link] = {}

    def to(self, name: str) -> Link:
        """The link to the receiver with this name."""
        link = self._by_name.get(name)
        if link is None:
            link = self._by_name[name] = Link(self._owner, name)
        return link

    @property
    def waiting(self) -> int:
        """Messages that are not acknowledged yet."""
        return sum(link.waiting for link in self._by_name.values())

    @property
    def unsent(self) -> bool:
        """Whether bytes wait for a socket."""
        return any(link.unsent for link in self._by_name.values())
