"""What of a pod's status may not become what (ValidatePodStatusUpdate of core/v1)."""

from __future__ import annotations

from .objects import Obj
from .pod_rules import Cause

_FIELDS = (("containerStatuses", "containers"), ("initContainerStatuses", "initContainers"))


def keep_status_fields(old: Obj, new: Obj) -> None:
    """The QoS class is the server's. Of two ways to tell the pod's address the single one counts."""
    status = new.setdefault("status", {})
    several = status.get("podIPs") or []
    if status.get("podIP") and [one.get("ip") for one in several[:1]] != [status["podIP"]]:
        status["podIPs"] = [{"ip": status["podIP"]}]
    elif several:
        status["podIP"] = several[0].get("ip", "")
    if not status.get("qosClass"):
        status["qosClass"] = old.get("status", {}).get("qosClass", "")


def status_causes(old: Obj, new: Obj) -> list[Cause]:
    """Of a pod that may not restart, a container that has terminated stays so; the node does not change."""
    causes: list[Cause] = []
    policy = old["spec"].get("restartPolicy")
    if old["status"].get("qosClass") != new["status"].get("qosClass"):
        causes.append(("status.qosClass", "FieldValueInvalid", "field is immutable"))
    if policy == "Always":
        return causes
    for field, specs in _FIELDS:
        lasting = {one["name"] for one in old["spec"].get(specs) or [] if one.get("restartPolicy") != "Always"}
        before = {one["name"]: one.get("state") or {} for one in old["status"].get(field) or []}
        for place, now in enumerate(new["status"].get(field) or []):
            ended = before.get(now["name"], {}).get("terminated")
            retried = ended and policy == "OnFailure" and ended.get("exitCode")
            if ended and not retried and now["name"] in lasting and "terminated" not in (now.get("state") or {}):
                text = "Forbidden: may not be transitioned to non-terminated state"
                causes.append((f"status.{field}[{place}].state", "FieldValueForbidden", text))
    return causes
