"""What makes a Node, a Lease or an Event Invalid (422), as far as nodes write them."""

from __future__ import annotations

import ipaddress

from .objects import Obj, dig
from .pod_rules import Cause

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def node_causes(node: Obj, old: Obj | None = None) -> list[Cause]:
    """`old` None: it is new."""
    causes = _taints(node) + _addresses(node)
    for field in ("providerID", "podCIDR"):
        before, after = dig(old, f"spec.{field}", ""), dig(node, f"spec.{field}", "")
        if before and before != after:
            text = "Forbidden: node updates may not change it once it is set"
            causes.append((f"spec.{field}", "FieldValueForbidden", text))
    return causes


def _taints(node: Obj) -> list[Cause]:
    causes, seen = list[Cause](), set[tuple[str, str]]()
    for place, taint in enumerate(dig(node, "spec.taints") or []):
        where, effect = f"spec.taints[{place}]", taint.get("effect", "")
        if effect not in _EFFECTS:
            causes.append((f"{where}.effect", "FieldValueNotSupported", f'Unsupported value: "{effect}"'))
        if (taint.get("key", ""), effect) in seen:
            causes.append((where, "FieldValueDuplicate", f"Duplicate value: {taint}"))
        seen.add((taint.get("key", ""), effect))
    return causes


def _addresses(node: Obj) -> list[Cause]:
    listed = [(one["type"], one["address"]) for one in dig(node, "status.addresses") or []]
    twice = [place for place, one in enumerate(listed) if one in listed[:place]]
    return [
        (f"status.addresses[{place}]", "FieldValueDuplicate", f"Duplicate value: {listed[place]}") for place in twice
    ]


def lease_causes(lease: Obj) -> list[Cause]:
    seconds = dig(lease, "spec.leaseDurationSeconds")
    if seconds is None or seconds > 0:
        return []
    return [("spec.leaseDurationSeconds", "FieldValueInvalid", f"Invalid value: {seconds}: must be greater than 0")]


def event_causes(event: Obj) -> list[Cause]:
    """Events of what has no namespace are in `default`, others with what they are of."""
    namespace, about = event["metadata"].get("namespace", ""), dig(event, "involvedObject.namespace", "")
    if (about or "default") == namespace:
        return []
    text = f'Invalid value: "{about}": does not match event.namespace'
    return [("involvedObject.namespace", "FieldValueInvalid", text)]


def address_causes(pod: Obj) -> list[Cause]:
    """Of a pod and its host: one of each family at most, and that of the host is the first of its list."""
    causes: list[Cause] = []
    for single, several in (("podIP", "podIPs"), ("hostIP", "hostIPs")):
        ips = [one.get("ip", "") for one in dig(pod, f"status.{several}") or []]
        one = dig(pod, f"status.{single}", "")
        if ips and one != ips[0] and single == "hostIP":
            causes.append((f"status.{several}", "FieldValueInvalid", f"must be equal to `{single}`: {one!r}, {ips}"))
        families = [_family(ip) for ip in ips]
        if 0 in families or len(set(families)) != len(families):
            causes.append((f"status.{several}", "FieldValueInvalid", f"no address, or two of a family: {ips}"))
    return causes


def _family(text: str) -> int:
    """4 or 6; 0: it is no address."""
    try:
        return ipaddress.ip_address(text).version
    except ValueError:
        return 0
