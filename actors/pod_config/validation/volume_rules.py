"""Validation of a pod's volumes, and their references to objects of the API server.

The rules of each volume source are with its shape, in `actors/shared/kube/volumes.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from actors.shared.kube import formats
from actors.shared.kube.volumes import DownwardAPIVolumeSource, Volume

from .field_check import FieldCheck
from .field_references import OF_FILES, check_field, check_resource

_SECRET_FIELDS = (b'"secretRef"', b'"nodePublishSecretRef"', b'"secretName"')


def check_volume(volume: Volume, check: FieldCheck) -> None:
    check.at("name").form(formats.dns_label, volume.name)
    given = dict(volume.sources())
    if len(given) > 1:
        check.exactly_one(given, "volume source")
    for name, source in given.items():
        where = check.at(name)
        if name == "gitRepo":
            where.fail("not supported: it runs git as root (CVE-2024-10220)")
        if not isinstance(source, msgspec.Raw):
            for field, problem in source.problems():
                (where.at(field) if field else where).fail(problem)
    if volume.downwardAPI is not None:
        _check_fields(volume.downwardAPI, check.at("downwardAPI"))
    for index, part in enumerate(volume.projected.sources if volume.projected is not None else ()):
        if part.downwardAPI is not None:
            _check_fields(part.downwardAPI, check.at("projected.sources").item(index).at("downwardAPI"))


def _check_fields(source: DownwardAPIVolumeSource, check: FieldCheck) -> None:
    for index, item in enumerate(source.items):
        where = check.at("items").item(index)
        if item.fieldRef is not None:
            check_field(item.fieldRef, OF_FILES, where.at("fieldRef"))
        if item.resourceFieldRef is not None:
            check_resource(item.resourceFieldRef, where.at("resourceFieldRef"), container_needed=True)


def references(volume: Volume, path: str) -> Iterator[str]:
    """Fields of the volume, which is at `path`, that refer to objects of the API server."""
    for name, source in volume.sources():
        if isinstance(source, msgspec.Raw):
            if name == "ephemeral" or any(field in bytes(source) for field in _SECRET_FIELDS):
                yield f"{path}.{name}"
        else:
            for field in source.api_fields():
                yield f"{path}.{name}.{field}" if field else f"{path}.{name}"
