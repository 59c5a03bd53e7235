"""The configurations that the controller knows, by hash: from the sources and from the checkpoints."""

from __future__ import annotations

from collections.abc import Collection

from actors.shared.config.sources.checkpoints import ConfigCheckpoints, hash_of, layers_of
from actors.shared.config.sources.documents import Document

from .sources import ConfigSources, ValidConfiguration


class Candidates:
    """Validates a configuration when the sources give it first, and again when it is put in force."""

    def __init__(self, sources: ConfigSources, store: ConfigCheckpoints, valid: str) -> None:
        """`valid`: the hash of the configuration that was validated when the agent started."""
        self._sources, self._store = sources, store
        self._documents: dict[str, list[Document]] = {}
        self._valid = {valid}

    def read(self) -> str:
        """The hash of the configuration in the sources. Raises ConfigErrors when it is invalid."""
        documents = self._sources.read()
        name = hash_of(documents)
        if name not in self._valid:
            self._sources.validate(documents)
            if not self._sources.lacks_tree:
                self._valid.add(name)
        self._documents[name] = documents
        return name

    def layers(self, name: str) -> list[Document] | None:
        """The documents of the configuration with this hash; None when it is not known."""
        if name in self._documents:
            return self._documents[name]
        layers = self._store.layers(name)
        return None if layers is None else layers.documents()

    def validated(self, name: str) -> ValidConfiguration | None:
        """The configuration and policies with this hash; None when it is not known. Raises ConfigErrors."""
        documents = self.layers(name)
        return None if documents is None else self._sources.validate(documents)

    def checkpoint(self, name: str) -> None:
        """Write the layers of this configuration to its checkpoint. Raises OSError."""
        if name in self._documents:
            self._store.put(name, layers_of(self._documents[name]))

    def keep(self, names: Collection[str]) -> None:
        """Forget the layers of all other configurations."""
        self._documents = {name: layers for name, layers in self._documents.items() if name in names}
