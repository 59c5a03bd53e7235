"""The configurations that the controller knows by hash: those that the sources gave, and those in the checkpoints."""

from __future__ import annotations

from collections.abc import Collection

from actors.shared.config.sources.checkpoints import Store, hash_of, layers_of
from actors.shared.config.sources.documents import Document

from .sources import Sources, Wanted


class Candidates:
    """A configuration is validated once when the sources give it, and again when it is put in force."""

    def __init__(self, sources: Sources, store: Store, valid: str) -> None:
        """`valid`: the hash of the configuration that the start of the agent has validated."""
        self._sources, self._store = sources, store
        self._documents: dict[str, list[Document]] = {}
        self._valid = {valid}

    def read(self) -> str:
        """The hash of what the sources say now. Raises ConfigErrors."""
        documents = self._sources.read()
        name = hash_of(documents)
        if name not in self._valid:
            self._sources.validate(documents)
            if not self._sources.lacks_tree:
                self._valid.add(name)
        self._documents[name] = documents
        return name

    def layers(self, name: str) -> list[Document] | None:
        """None for a hash that is not known."""
        if name in self._documents:
            return self._documents[name]
        layers = self._store.layers(name)
        return None if layers is None else layers.documents()

    def wanted(self, name: str) -> Wanted | None:
        """The configuration and the policies of a hash; None for one that is not known. Raises ConfigErrors."""
        documents = self.layers(name)
        return None if documents is None else self._sources.validate(documents)

    def checkpoint(self, name: str) -> None:
        """Write the layers of this one. Raises OSError."""
        if name in self._documents:
            self._store.put(name, layers_of(self._documents[name]))

    def keep(self, names: Collection[str]) -> None:
        """Forget the layers of all others."""
        self._documents = {name: layers for name, layers in self._documents.items() if name in names}
