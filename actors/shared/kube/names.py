"""Labels, annotations and fixed strings that the API, the runtime and other node tools read."""

POD_NAME_LABEL = "io.kubernetes.pod.name"
POD_NAMESPACE_LABEL = "io.kubernetes.pod.namespace"
POD_UID_LABEL = "io.kubernetes.pod.uid"
CONTAINER_NAME_LABEL = "io.kubernetes.container.name"

CONTAINER_HASH = "io.kubernetes.container.hash"
CONTAINER_RESTART_COUNT = "io.kubernetes.container.restartCount"
CONTAINER_TERMINATION_MESSAGE_PATH = "io.kubernetes.container.terminationMessagePath"
CONTAINER_TERMINATION_MESSAGE_POLICY = "io.kubernetes.container.terminationMessagePolicy"
CONTAINER_PRE_STOP_HANDLER = "io.kubernetes.container.preStopHandler"
CONTAINER_PORTS = "io.kubernetes.container.ports"
CONTAINER_RESOURCES = "troupelet.io/resources"
"""Troupelet's own: the requests and limits that a container was created with, as JSON."""
CONTAINER_RESTARTS_IN_A_ROW = "troupelet.io/restarts-in-a-row"
"""Troupelet's own: consecutive restarts without a long run between them, which the next back-off follows from."""
POD_DELETION_GRACE_PERIOD = "io.kubernetes.pod.deletionGracePeriod"
POD_TERMINATION_GRACE_PERIOD = "io.kubernetes.pod.terminationGracePeriod"

CONFIG_SOURCE = "kubernetes.io/config.source"
CONFIG_SEEN = "kubernetes.io/config.seen"
CONFIG_HASH = "kubernetes.io/config.hash"
CONFIG_MIRROR = "kubernetes.io/config.mirror"

SOURCE_FILE, SOURCE_HTTP, SOURCE_API = "file", "http", "api"

SYSTEM_CRITICAL_PRIORITY = 2_000_000_000
"""At and above this a pod is critical: never evicted, oom_score_adj as for Guaranteed."""
NODE_CRITICAL_CLASS, CLUSTER_CRITICAL_CLASS = "system-node-critical", "system-cluster-critical"

HOSTNAME_LABEL, OS_LABEL, ARCH_LABEL = "kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch"
OLD_OS_LABEL, OLD_ARCH_LABEL = "beta.kubernetes.io/os", "beta.kubernetes.io/arch"
ZONE_LABEL, REGION_LABEL = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
OLD_ZONE_LABEL, OLD_REGION_LABEL = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
NODE_LABELS = (
    HOSTNAME_LABEL,
    ZONE_LABEL,
    REGION_LABEL,
    OLD_ZONE_LABEL,
    OLD_REGION_LABEL,
    "node.kubernetes.io/instance-type",
    "beta.kubernetes.io/instance-type",
    OS_LABEL,
    ARCH_LABEL,
    OLD_OS_LABEL,
    OLD_ARCH_LABEL,
)
"""The labels of its own node that a node agent sets."""
