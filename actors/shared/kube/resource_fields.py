"""A container's resources for the downward API (API doc, ResourceFieldSelector). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from .container import Container
from .huge_pages import is_huge_pages
from .meta import ResourceFieldSelector
from .pod import Pod
from .quantity import ceil, parse

_DEFAULTED: Final = ("cpu", "memory", "ephemeral-storage")
"""Resources for which the node's allocatable replaces a missing limit. Huge pages are excluded, because a
container has only those that it requests."""


class ResourceFieldError(ValueError):
    """No such resource."""


def resource_field(
    pod: Pod, container: Container, selector: ResourceFieldSelector, allocatable: Mapping[str, int]
) -> str:
    """A request or limit of the container, in units of the divisor, rounded up. `allocatable`: of the node, cpu in
    thousandths, the rest in bytes. Raises ResourceFieldError, QuantityError."""
    kind, _, name = selector.resource.partition(".")
    if kind not in ("limits", "requests") or not (name in _DEFAULTED or is_huge_pages(name)):
        raise ResourceFieldError(f"unsupported container resource : {selector.resource}")
    divisor = parse(selector.divisor) if selector.divisor else Fraction(0)
    value = _limit(pod, container, name, allocatable) if kind == "limits" else _request(container, name)
    return str(ceil(value / (divisor or Fraction(1))))


def _request(container: Container, name: str) -> Fraction:
    resources = container.resources
    return parse(resources.requests.get(name, resources.limits.get(name, 0)))


def _limit(pod: Pod, container: Container, name: str, allocatable: Mapping[str, int]) -> Fraction:
    """Its own limit, else its pod's (KEP-2837), else the node's allocatable; a limit of 0 counts as none."""
    own = parse(container.resources.limits.get(name, 0))
    if own or name not in _DEFAULTED:
        return own
    whole = parse(pod.spec.resources.limits.get(name, 0)) if pod.spec.resources is not None else Fraction(0)
    return whole or Fraction(allocatable.get(name, 0), 1000 if name == "cpu" else 1)
