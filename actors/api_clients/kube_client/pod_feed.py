"""The API server's pods of this node, as bytes, and their consumers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

from actors.pod_config.messages import POD_CONFIG, SourcePod, SourcePods
from actors.shared.api.errors import ApiError
from actors.shared.kube.names import SOURCE_API
from actors.shared.lists_in_parts import ListsInParts
from actors.status_manager.messages import STATUS_MANAGER
from supervision.addresses import ActorName
from supervision.message import Message

PODS: Final = "pods"
CONSUMERS: Final = (POD_CONFIG, STATUS_MANAGER)

if TYPE_CHECKING:
    from actors.shared.api.reflector import Item


class CollectionOwner(Protocol):
    """The interface of a followed collection to its actor."""

    def collection_answered(self, collection: str) -> None: ...
    def collection_failed(self, collection: str, error: ApiError) -> None: ...


class PodFeed:
    """Sends the pods of a reflector to the consumers: a list as SourcePods, a change as SourcePod.

    It sends an empty list only if the server sent one, because pods that are not in it are removed.
    """

    def __init__(
        self,
        owner: CollectionOwner,
        tell: Callable[[ActorName, Message], None],
        lists: ListsInParts,
        on_pod: Callable[[Item], None],
        on_removal: Callable[[set[str]], None],
    ) -> None:
        """`on_pod` is called with each new or changed pod, `on_removal` with the UIDs of the remaining pods."""
        self._owner, self._tell, self._lists = owner, tell, lists
        self._on_pod, self._on_removal = on_pod, on_removal
        self.pods: dict[str, Item] = {}
        self.synced = False

    # -- callbacks of the reflector -----------------------------------------------------------------------------------
    def replaced(self, items: list[Item]) -> None:
        before, self.pods = self.pods, {item.uid: item for item in items}
        self.synced = True
        for item in items:
            if before.get(item.uid) != item:
                self._on_pod(item)
        self._on_removal(set(self.pods))
        for name in CONSUMERS:
            self.tell_all(name)

    def changed(self, item: Item) -> None:
        if self.pods.get(item.uid) == item:
            return
        self.pods[item.uid] = item
        self._on_pod(item)
        self._tell_one(item.uid, item.data)

    def deleted(self, item: Item) -> None:
        self.pods.pop(item.uid, None)
        self._on_removal(set(self.pods))
        self._tell_one(item.uid, b"")

    def failed(self, error: ApiError) -> None:
        self._owner.collection_failed(PODS, error)

    def answered(self) -> None:
        self._owner.collection_answered(PODS)

    # -- consumers ----------------------------------------------------------------------------------------------------
    def tell_all(self, name: ActorName) -> None:
        """Send the whole list, if there is one."""
        if self.synced:
            self._lists.send(name, {uid: len(item.data) for uid, item in self.pods.items()}, self._list)

    def _list(self, keys: list[str], *, more: bool) -> SourcePods:
        others = [] if more else sorted(self.pods.keys() - set(keys))
        pods = [self.pods[uid].data for uid in keys if uid in self.pods]
        return SourcePods(SOURCE_API, pods, others, more)

    def _tell_one(self, uid: str, data: bytes) -> None:
        for name in CONSUMERS:
            self._tell(name, SourcePod(SOURCE_API, uid, data))
