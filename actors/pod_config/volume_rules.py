"""Validation of a pod's volumes, and their references to objects of the API server.

The rules of each volume source are with its shape, in `actors/shared/kube/volumes.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from actors.shared.kube import formats
from actors.shared.kube.volumes import Volume

from .field_check import FieldCheck

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


def references(volume: Volume, path: str) -> Iterator[str]:
    """Fields of the volume, which is at `path`, that refer to objects of the API server."""
    for name, source in volume.sources():
        if isinstance(source, msgspec.Raw):
            if name == "ephemeral" or any(field in bytes(source) for field in _SECRET_FIELDS):
                yield f"{path}.{name}"
        else:
            for field in source.api_fields():
                yield f"{path}.{name}.{field}" if field else f"{path}.{name}"
