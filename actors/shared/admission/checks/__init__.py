"""The admission checks. Each module of this package is one, and declares it as CHECK; a new module needs no other
change."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import Final

from actors.shared.admission.request import AdmissionCheck, NodeState, PodAdmitAttributes, Refusal


def _load_checks() -> tuple[AdmissionCheck, ...]:
    modules = (import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__))
    return tuple(sorted((module.CHECK for module in modules), key=lambda check: check.order))


CHECKS: Final = _load_checks()
"""In the kubelet's order."""


def first_refusal(candidate: PodAdmitAttributes, node: NodeState, *, admitted: bool = False) -> Refusal | None:
    """Why the pod is refused before any hardware is allocated to it. `admitted`: as below."""
    return _first_refusal([check for check in CHECKS if check.before_hardware], candidate, node, admitted)


def refusal(
    candidate: PodAdmitAttributes, node: NodeState, *, admitted: bool = False, of_resources: bool = True
) -> Refusal | None:
    """Why the pod is refused; None if it is admitted. `admitted`: it was admitted before, or runs already.
    `of_resources`: include the checks of resources."""
    return _first_refusal(
        [check for check in CHECKS if of_resources or not check.of_resources], candidate, node, admitted
    )


def _first_refusal(
    checks: list[AdmissionCheck], candidate: PodAdmitAttributes, node: NodeState, admitted: bool
) -> Refusal | None:
    found = (check.refuse(candidate, node) for check in checks if check.of_admitted or not admitted)
    return next((refused for refused in found if refused is not None), None)
