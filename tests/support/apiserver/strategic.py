"""Strategic merge patch: lists that are merged by a key, and the directives ($patch, $setElementOrder, $retainKeys).

Which lists are merged by which key is in the API's types (patchStrategy, patchMergeKey); here for the kinds that nodes
and their users patch.
"""

from __future__ import annotations

from typing import Any

from .objects import Obj

_POD = {
    "containers": "name",
    "initContainers": "name",
    "ephemeralContainers": "name",
    "volumes": "name",
    "env": "name",
    "ports": "containerPort",
    "volumeMounts": "mountPath",
    "volumeDevices": "devicePath",
    "hostAliases": "ip",
    "imagePullSecrets": "name",
    "topologySpreadConstraints": "topologyKey",
    "schedulingGates": "name",
    "resourceClaims": "name",
    "resourceClaimStatuses": "name",
    "conditions": "type",
    "podIPs": "ip",
    "hostIPs": "ip",
}
MERGE_KEYS: dict[str, dict[str, str]] = {
    "Pod": _POD,
    "Deployment": _POD,
    "DaemonSet": _POD,
    "Node": {"conditions": "type", "addresses": "type"},
    "ServiceAccount": {"secrets": "name", "imagePullSecrets": "name"},
    "Service": {"ports": "port", "conditions": "type"},
    "Namespace": {"conditions": "type"},
    "PersistentVolumeClaim": {"conditions": "type"},
    "CertificateSigningRequest": {"conditions": "type"},
}
_EVERYWHERE = {"ownerReferences": "uid"}
_SETS = {"finalizers", "podCIDRs"}


def strategic_merge(kind: str, current: Obj, patch: Obj) -> Obj:
    """Changes `current`."""
    return _Merger({**_EVERYWHERE, **MERGE_KEYS.get(kind, {})}).map(current, patch)


class _Merger:
    def __init__(self, keys: dict[str, str]) -> None:
        self._keys = keys

    def map(self, current: Obj, patch: Obj) -> Obj:
        directive = patch.get("$patch")
        if directive == "replace":
            return {key: value for key, value in patch.items() if key != "$patch"}
        if directive == "delete":
            return {}
        if "$retainKeys" in patch:
            current = {key: value for key, value in current.items() if key in patch["$retainKeys"]}
        for key, value in patch.items():
            self._entry(current, key, value, patch)
        return current

    def _entry(self, current: Obj, key: str, value: Any, patch: Obj) -> None:
        if key.startswith("$deleteFromPrimitiveList/"):
            field = key.partition("/")[2]
            current[field] = [one for one in current.get(field) or [] if one not in value]
        elif key.startswith("$setElementOrder/"):
            field = key.partition("/")[2]
            if field not in patch and isinstance(current.get(field), list):
                current[field] = self._ordered(field, current[field], value)
        elif key.startswith("$"):
            return
        elif value is None:
            current.pop(key, None)
        elif isinstance(value, dict):
            current[key] = self.map(current.get(key) or {}, value)
        elif isinstance(value, list):
            current[key] = self._list(key, current.get(key) or [], value, patch.get(f"$setElementOrder/{key}"))
        else:
            current[key] = value

    def _list(self, field: str, current: list[Any], patch: list[Any], order: list[Any] | None) -> list[Any]:
        if field in _SETS:
            merged = current + [one for one in patch if one not in current]
            return self._ordered(field, merged, order) if order else merged
        key = self._keys.get(field)
        if key is None or not all(isinstance(one, dict) for one in patch):
            return [self._clean(one) for one in patch]
        if any(one.get("$patch") == "replace" for one in patch):
            return [self._clean(one) for one in patch if one.get("$patch") != "replace"]
        merged = self._merged(field, key, current, patch)
        return self._ordered(field, merged, order) if order else merged

    def _merged(self, field: str, key: str, current: list[Obj], patch: list[Obj]) -> list[Obj]:
        found = list(current)
        for one in patch:
            places = [place for place, old in enumerate(found) if old.get(key) == one.get(key)]
            if one.get("$patch") == "delete":
                found = [old for old in found if old.get(key) != one.get(key)]
            elif places:
                found[places[0]] = self.map(found[places[0]], one)
            else:
                found.append(self.map({}, one))
        return found

    def _ordered(self, field: str, items: list[Any], order: list[Any]) -> list[Any]:
        """In the order that was asked for; what is not in it stays where it stood relative to its neighbours."""
        key = self._keys.get(field)
        wanted = [one.get(key) if isinstance(one, dict) else one for one in order]

        def name(one: Any) -> Any:
            return one.get(key) if isinstance(one, dict) else one

        listed = sorted((one for one in items if name(one) in wanted), key=lambda one: wanted.index(name(one)))
        queue = iter(listed)
        return [next(queue) if name(one) in wanted else one for one in items]

    def _clean(self, value: Any) -> Any:
        """Without directives, and with nulls left out, as for what was not there before."""
        if isinstance(value, dict):
            return self.map({}, value)
        return value
