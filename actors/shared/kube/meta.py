"""Base of the API types, and object metadata.

Attributes carry the JSON names of the API. Types tolerate unknown fields, because an API server may be newer; strict
checks of handwritten files are in `strict.py`.
"""

from __future__ import annotations

import msgspec


class Api(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of every API type: immutable, fields by name, empty ones left out of the JSON."""


IntOrString = int | str
Quantity = str | int | float
"""As written; `quantity.py` reads it."""


class OwnerReference(Api, frozen=True):
    apiVersion: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    blockOwnerDeletion: bool | None = None


class ObjectMeta(Api, frozen=True):
    name: str = ""
    generateName: str = ""
    namespace: str = ""
    uid: str = ""
    resourceVersion: str = ""
    generation: int = 0
    creationTimestamp: str | None = None
    deletionTimestamp: str | None = None
    deletionGracePeriodSeconds: int | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    ownerReferences: list[OwnerReference] = []
    finalizers: list[str] = []
    selfLink: str = ""
    managedFields: msgspec.Raw = msgspec.Raw()


class LocalObjectReference(Api, frozen=True):
    name: str = ""


class KeyToPath(Api, frozen=True):
    key: str
    path: str
    mode: int | None = None


class SecretKeySelector(Api, frozen=True):
    """Also the shape of a config map key selector."""

    key: str
    name: str = ""
    optional: bool | None = None


FORMER_FIELDS = {"spec.host": "spec.nodeName"}
"""Field paths that the API still accepts, and their names of today."""


class ObjectFieldSelector(Api, frozen=True):
    fieldPath: str
    apiVersion: str = ""


class ResourceFieldSelector(Api, frozen=True):
    resource: str
    containerName: str = ""
    divisor: Quantity = ""
