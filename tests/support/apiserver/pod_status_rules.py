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
    """A container that has terminated and may not restart stays so; the QoS class does not change."""
    causes: list[Cause] = []
    if old["status"].get("qosClass") != new["status"].get("qosClass"):
        causes.append(("status.qosClass", "FieldValueInvalid", "field is immutable"))
    if _may_restart_all(old["spec"]):
        return causes
    for field, specs in _FIELDS:
        containers = {one["name"]: one for one in old["spec"].get(specs) or []}
        before = {one["name"]: one.get("state") or {} for one in old["status"].get(field) or []}
        for place, now in enumerate(new["status"].get(field) or []):
            ended = before.get(now["name"], {}).get("terminated")
            if not ended or "terminated" in (now.get("state") or {}):
                continue
            if not _may_restart(containers.get(now["name"], {}), old["spec"], ended.get("exitCode", 0)):
                text = "Forbidden: may not be transitioned to non-terminated state"
                causes.append((f"status.{field}[{place}].state", "FieldValueForbidden", text))
    return causes


def _may_restart_all(spec: Obj) -> bool:
    """Whether the exit of one container may restart all (KEP-5532)."""
    rules = (
        rule for _, specs in _FIELDS for one in spec.get(specs) or [] for rule in one.get("restartPolicyRules") or []
    )
    return any(rule.get("action") == "RestartAllContainers" for rule in rules)


def _may_restart(container: Obj, spec: Obj, code: int) -> bool:
    """By the container's first rule that matches, else by its own policy, else by that of its pod (KEP-5307)."""
    for rule in container.get("restartPolicyRules") or []:
        codes = rule.get("exitCodes") or {}
        if (code in codes.get("values", ())) == (codes.get("operator") == "In"):
            return True
    policy = container.get("restartPolicy") or spec.get("restartPolicy")
    return policy == "Always" or (policy == "OnFailure" and code != 0)
