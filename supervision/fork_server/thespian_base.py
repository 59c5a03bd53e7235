"""The tree on Thespian's interface: `ActorSystem(systemBase=TreeBase(fork_server))`, in the fork server's own process.

That process runs no actor code and receives no actor messages. Other processes talk to the actors with `client.py`, or
with `system_base.NativeBase`, which starts its own fork server.
"""

from __future__ import annotations

from typing import Any, NoReturn, Protocol

from thespian.actors import ActorAddress, ActorSystemFailure, InvalidActorSpecification

from ..actor import Address
from ..protocol import ROOT


class ForkServerTree(Protocol):
    """The fork server."""

    def create_root(self) -> None: ...
    def stop(self) -> None: ...


class TreeBase:
    """The system base of Thespian's ActorSystem. Its only primary actor is the root supervisor."""

    def __init__(self, tree: ForkServerTree) -> None:
        self._tree = tree

    def newPrimaryActor(
        self, actorClass: type | str, requirements: Any, globalName: str | None, source: Any = None
    ) -> Address:
        """Raises InvalidActorSpecification for any actor but the root: the others have a supervisor."""
        if globalName != ROOT:
            raise InvalidActorSpecification(actorClass, f"{globalName or 'an actor'} without a supervisor")
        self._tree.create_root()
        return Address(ROOT)

    def shutdown(self) -> None:
        self._tree.stop()

    def tell(self, address: ActorAddress, message: Any) -> NoReturn:
        raise ActorSystemFailure("the fork server sends no messages to actors: use supervision.client")

    def ask(self, address: ActorAddress, message: Any, timeout: Any = None) -> NoReturn:
        self.tell(address, message)

    def listen(self, timeout: Any = None) -> NoReturn:
        raise ActorSystemFailure("no actor sends to the fork server: use supervision.client")
