"""What happens to an object between the request and the store: refusals, and what the plugins add to pods."""

from __future__ import annotations

from .authorizer import references
from .errors import forbidden
from .node_restriction import MIRROR, NodeRestriction
from .objects import Obj, dig
from .options import Options
from .pod_defaults import taint_tolerations, token_volume
from .registry import Registry
from .request import Target, User
from .strategies import random_suffix


class Admission:
    def __init__(self, registry: Registry, options: Options) -> None:
        self._store, self._options = registry.store, options
        self._nodes = NodeRestriction(registry.store)

    def admit(self, user: User, target: Target, old: Obj | None, new: Obj | None) -> None:
        """`old` None: create, `new` None: delete. Changes `new`. Raises StatusError 403."""
        new_pod = target.resource.plural == "pods" and old is None and target.subresource == ""
        if new_pod and new is not None and MIRROR in (new["metadata"].get("annotations") or {}):
            _check_mirror(new)
        if self._options.node_restriction:
            self._nodes.check(user, target, old, new)
        if new_pod and new is not None and new.get("spec"):
            self._account(target, new)
            self._priority(new)
            taint_tolerations(new)

    def _account(self, target: Target, pod: Obj) -> None:
        if MIRROR in (pod["metadata"].get("annotations") or {}) or not self._options.service_accounts:
            return
        spec, metadata = pod["spec"], pod["metadata"]
        name = spec.get("serviceAccountName") or spec.get("serviceAccount") or "default"
        spec["serviceAccountName"] = spec["serviceAccount"] = name
        found = self._store.get(("serviceaccounts", target.namespace, name))
        if found is None:
            why = f'error looking up service account {target.namespace}/{name}: serviceaccount "{name}" not found'
            forbidden("pods", metadata.get("name") or metadata.get("generateName", ""), why)
        if spec.get("containers"):
            token_volume(pod, random_suffix(), found)

    def _priority(self, pod: Obj) -> None:
        spec = pod["spec"]
        system = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
        name = spec.get("priorityClassName", "")
        made = self._store.get(("priorityclasses.scheduling.k8s.io", "", name))
        if name and name not in system and made is None:
            forbidden("pods", pod["metadata"].get("name", ""), f"no PriorityClass with name {name} was found")
        priority = system.get(name, made.get("value", 0) if made else 0)
        policy = (made or {}).get("preemptionPolicy", "PreemptLowerPriority")
        for field, computed in (("priority", priority), ("preemptionPolicy", policy)):
            if spec.setdefault(field, computed) != computed:
                why = f"{field} must not be provided in pod spec; priority admission controller computed {computed}"
                forbidden("pods", pod["metadata"].get("name", ""), f"{why} from the given PriorityClass name")


def _check_mirror(pod: Obj) -> None:
    """The admission plugin ServiceAccount, which comes before NodeRestriction. Raises StatusError 403."""
    name, spec = pod["metadata"].get("name", ""), pod.get("spec") or {}
    if spec.get("serviceAccountName"):
        forbidden("pods", name, "a mirror pod may not reference service accounts")
    if any(plural == "secrets" and found for plural, found in references({**pod, "spec": spec})):
        forbidden("pods", name, "a mirror pod may not reference secrets")
    sources = [one for volume in spec.get("volumes") or [] for one in dig(volume, "projected.sources", None) or []]
    if any("serviceAccountToken" in one for one in sources):
        forbidden("pods", name, "a mirror pod may not use ServiceAccountToken volume projections")
