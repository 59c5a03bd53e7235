"""The addresses in the status of a pod: its own, and the node's. Pure."""

from __future__ import annotations

from actors.shared.cri.model import PodRuntime
from actors.shared.kube.node_addresses import pod_ips_of_sandbox
from actors.shared.kube.pod import PodStatus

from .pod_status_input import ENDED, PodStatusInput, PodStatusNode


def host_ips_of(node: PodStatusNode, old: PodStatus, *, rejected: bool) -> list[str]:
    """The status of a rejected pod: phase, reason, message and start time, no address."""
    return [each.ip for each in old.hostIPs] if rejected else node.ips


def ips_of(observation: PodStatusInput, node: PodStatusNode, old: PodStatus, *, rejected: bool) -> list[str]:
    """The pod's addresses. A pod that has ended keeps them."""
    if rejected:
        return [each.ip for each in old.podIPs]
    if observation.pod.spec.hostNetwork:
        return node.ips
    found = pod_ips(observation.seen.runtime, node.given)
    ending = observation.seen.worker_phase in ("terminating", *ENDED)
    return found or ([each.ip for each in old.podIPs] if ending else [])


def pod_ips(runtime: PodRuntime | None, given: str) -> list[str]:
    """The addresses of the newest sandbox; `given` is --node-ip."""
    ips = runtime.sandboxes[0].ips if runtime is not None and runtime.sandboxes else []
    return pod_ips_of_sandbox(ips, given)
