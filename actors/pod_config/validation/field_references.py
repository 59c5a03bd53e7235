"""The fields of a pod or container that a variable or a file can have (API reference, ObjectFieldSelector and
ResourceFieldSelector v1 core)."""

from __future__ import annotations

import re
from typing import Final

from actors.shared.kube import formats
from actors.shared.kube.huge_pages import PREFIX
from actors.shared.kube.meta import FORMER_FIELDS, ObjectFieldSelector, ResourceFieldSelector
from actors.shared.kube.quantity import QuantityError, parse

from .field_check import FieldCheck

OF_VARIABLES: Final = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP",
    "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip
OF_FILES: Final = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
_KEYED: Final = re.compile(r"metadata\.(annotations|labels)\['(.*)'\]\Z", re.DOTALL)
_RESOURCES: Final = tuple(
    f"{side}.{name}" for side in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)
_HUGE_PAGES: Final = tuple(f"{side}.{PREFIX}" for side in ("limits", "requests"))
_CPU_DIVISORS: Final = (parse("1m"), parse("1"))
_BYTE_DIVISORS: Final = tuple(
    parse(f"1{unit}") for unit in ("", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
)


def check_field(selector: ObjectFieldSelector, fields: tuple[str, ...], check: FieldCheck) -> None:
    """`fields`: OF_VARIABLES or OF_FILES; both can also have one label or annotation by its key."""
    check.at("apiVersion").one_of(selector.apiVersion, ("v1",))
    where = check.at("fieldPath")
    keyed = _KEYED.match(selector.fieldPath)
    if keyed is not None:
        kind, key = keyed.groups()
        where.form(formats.qualified_name, key.lower() if kind == "annotations" else key)
    elif where.required(selector.fieldPath):
        field = FORMER_FIELDS.get(selector.fieldPath, selector.fieldPath)
        where.one_of(field, (*fields, "metadata.annotations['<KEY>']", "metadata.labels['<KEY>']"))


def check_resource(selector: ResourceFieldSelector, check: FieldCheck, *, container_needed: bool) -> None:
    """`container_needed`: the selector is of a file, which belongs to no container."""
    if container_needed:
        check.at("containerName").required(selector.containerName)
    known = selector.resource in _RESOURCES or selector.resource.startswith(_HUGE_PAGES)
    if check.at("resource").required(selector.resource) and not known:
        check.at("resource").one_of(selector.resource, (*_RESOURCES, *(f"{prefix}<SIZE>" for prefix in _HUGE_PAGES)))
    if selector.divisor == "" or not known:
        return
    try:
        divisor = parse(selector.divisor)
    except QuantityError:
        check.at("divisor").fail(f"{str(selector.divisor)[:40]!r} is not a quantity, like 1 or 1Mi")
        return
    allowed = _CPU_DIVISORS if selector.resource.endswith(".cpu") else _BYTE_DIVISORS
    if divisor and divisor not in allowed:
        check.at("divisor").fail("must be 1m or 1 for CPU, 1 or one unit, like 1k or 1Mi, for others")
