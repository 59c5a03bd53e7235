"""What makes a pod Invalid (422): the rules that tests run into, not all of core/v1's."""

from __future__ import annotations

import re
from typing import Any

from .objects import Obj, copy

Cause = tuple[str, str, str]
LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_RESTARTS = ("Always", "OnFailure", "Never")
_PULLS = ("Always", "IfNotPresent", "Never")


def name_causes(obj: Obj) -> list[Cause]:
    name = obj["metadata"].get("name", "")
    if SUBDOMAIN.fullmatch(name) and len(name) <= 253:
        return []
    if not name:
        return [("metadata.name", "FieldValueRequired", "Required value: name or generateName is required")]
    rule = (
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
        "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
        f"'{SUBDOMAIN.pattern}')"
    )
    return [("metadata.name", "FieldValueInvalid", f'Invalid value: "{name}": {rule}')]


def pod_causes(pod: Obj) -> list[Cause]:
    spec = pod["spec"]
    causes: list[Cause] = []
    if not spec.get("containers"):
        causes.append(("spec.containers", "FieldValueRequired", "Required value"))
    if spec.get("restartPolicy") not in _RESTARTS:
        causes.append(_unsupported("spec.restartPolicy", spec.get("restartPolicy"), _RESTARTS))
    volumes = {volume.get("name") for volume in spec.get("volumes") or []}
    names = set[str]()
    for field in ("initContainers", "containers"):
        for place, container in enumerate(spec.get(field) or []):
            causes += _container(f"spec.{field}[{place}]", container, names, volumes)
    return causes


def _container(path: str, container: Obj, names: set[str], volumes: set[Any]) -> list[Cause]:
    causes: list[Cause] = []
    name = container.get("name", "")
    if not LABEL.fullmatch(name):
        reason = "FieldValueInvalid" if name else "FieldValueRequired"
        causes.append((f"{path}.name", reason, f'Invalid value: "{name}"' if name else "Required value"))
    if name in names:
        causes.append((f"{path}.name", "FieldValueDuplicate", f'Duplicate value: "{name}"'))
    names.add(name)
    if not container.get("image"):
        causes.append((f"{path}.image", "FieldValueRequired", "Required value"))
    if container.get("imagePullPolicy") not in _PULLS:
        causes.append(_unsupported(f"{path}.imagePullPolicy", container.get("imagePullPolicy"), _PULLS))
    for number, mount in enumerate(container.get("volumeMounts") or []):
        if mount.get("name") not in volumes:
            causes.append(
                (f"{path}.volumeMounts[{number}].name", "FieldValueNotFound", f'Not found: "{mount.get("name")}"')
            )
    return causes


def _unsupported(path: str, value: Any, known: tuple[str, ...]) -> Cause:
    listed = ", ".join(f'"{one}"' for one in known)
    return path, "FieldValueNotSupported", f'Unsupported value: "{value}": supported values: {listed}'


def changed_spec_causes(old: Obj, new: Obj) -> list[Cause]:
    """Of a pod only images, activeDeadlineSeconds, grace (from negative) and further tolerations may change."""
    before, after = copy(old["spec"]), copy(new["spec"])
    for spec in (before, after):
        for field in ("initContainers", "containers"):
            for container in spec.get(field) or []:
                container.pop("image", None)
        for key in ("activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "schedulingGates"):
            spec.pop(key, None)
    if before == after:
        return []
    fields = "image of a container, activeDeadlineSeconds, tolerations, terminationGracePeriodSeconds"
    return [("spec", "FieldValueForbidden", f"Forbidden: pod updates may not change fields other than {fields}")]
