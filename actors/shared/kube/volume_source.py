"""The base of the volume sources of a pod: their rules, and the API objects that they refer to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from .meta import Api, LocalObjectReference

Problem = tuple[str, str]
"""A field of a source ('' for the source itself), and the broken rule."""


class ObjectUse(NamedTuple):
    """An object in the pod's namespace that a source refers to."""

    kind: Literal["Secret", "ConfigMap"]
    name: str
    mounted: bool
    """Whether the volume's files come from it and change with it."""


class VolumeSource(Api, frozen=True):
    """Base of the sources."""

    def problems(self) -> Iterable[Problem]:
        """The errors of API validation (API reference, Volume v1 core)."""
        return ()

    def objects(self) -> Iterable[ObjectUse]:
        return ()

    def api_fields(self) -> Iterable[str]:
        """Fields that refer to API objects, '' for the source itself; a static pod must not have them."""
        return ()

    @property
    def only_read(self) -> bool:
        """Whether the volume is read-only for all containers, whatever their volumeMounts specify."""
        return False


class SourceWithSecret(VolumeSource, frozen=True, kw_only=True):
    """Base of the sources that refer to a Secret which the agent reads and does not mount."""

    secretRef: LocalObjectReference | None = None
    readOnly: bool = False

    def objects(self) -> Iterable[ObjectUse]:
        if self.secretRef is not None:
            yield ObjectUse("Secret", self.secretRef.name, mounted=False)

    def api_fields(self) -> Iterable[str]:
        if self.secretRef is not None:
            yield "secretRef"

    @property
    def only_read(self) -> bool:
        return self.readOnly
