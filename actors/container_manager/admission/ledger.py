"""The ledger of admitted pods: their resources, individually and together. Pure."""

from __future__ import annotations

from actors.shared.admission.request import AdmittedUsage, Demand, usage_of


class Ledger:
    """The pods that are counted against the node."""

    def __init__(self) -> None:
        self._demands: dict[str, Demand] = {}

    def __contains__(self, uid: str) -> bool:
        return uid in self._demands

    def __len__(self) -> int:
        return len(self._demands)

    def get(self, uid: str) -> Demand | None:
        return self._demands.get(uid)

    def demands(self) -> list[Demand]:
        """The demands of all pods that are counted."""
        return list(self._demands.values())

    def add(self, demand: Demand) -> None:
        """Count this pod, replacing its earlier entry."""
        self._demands[demand.uid] = demand

    def drop(self, uid: str) -> bool:
        """Stop counting this pod. Returns whether it was counted."""
        return self._demands.pop(uid, None) is not None

    def usage(self, without: str = "") -> AdmittedUsage:
        """The resources that all pods take together, except the pod with this UID."""
        return usage_of(demand for demand in self._demands.values() if demand.uid != without)

    def requested(self) -> dict[str, int]:
        """The sum of all requests."""
        return dict(self.usage().requests)

    def requested_by(self, qos: str, name: str) -> int:
        """The requests of all pods of one QoS class: thousandths of a core, or bytes."""
        return sum(demand.requests.get(name, 0) for demand in self._demands.values() if demand.qos == qos)
