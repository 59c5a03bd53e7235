"""The node as input of the admission checks."""

from __future__ import annotations

from functools import partial

from actors.shared.admission.request import NodeState
from actors.shared.config.feature_gates import enabled
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.kube.declared_features import declared_features

from ..messages import AdmitPod
from .admission_gate import AdmissionGate
from .ledger import Ledger


class NodeView:
    """Joins the configuration, the node's resources, the ledger and the reports of other actors."""

    def __init__(
        self, config: KubeletConfiguration, allocatable: dict[str, int], ledger: Ledger, gate: AdmissionGate
    ) -> None:
        """`allocatable`: in the units of Demand."""
        self._allocatable, self._ledger, self._gate = allocatable, ledger, gate
        feature = partial(enabled, overrides=config.featureGates)
        self._allowed_sysctls, self._pod_level = config.allowedUnsafeSysctls, feature("PodLevelResources")
        declares = feature("NodeDeclaredFeatures")
        self._features = frozenset(declared_features(feature)) if declares else None

    def state(self, message: AdmitPod) -> NodeState:
        """The node now, without this pod: an earlier question may already have entered it into the ledger."""
        return NodeState(
            allocatable=self._allocatable,
            usage=self._ledger.usage(without=message.uid),
            conditions=self._gate.conditions,
            shutting_down=self._gate.shutting_down,
            allowed_sysctls=self._allowed_sysctls,
            object=message.node,
            strict_groups=message.strict_groups,
            apparmor=message.apparmor,
            claims=message.claims,
            extended_claims=message.extended_claims,
            pod_level=self._pod_level,
            features=self._features,
        )
