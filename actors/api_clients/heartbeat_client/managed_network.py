"""Whether the pods of a managed container runtime have the addresses that the cluster gave this node. Pure but for
`read`."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Final, NamedTuple

from actors.shared.config.agent import NETWORK_FILES
from actors.shared.cri.cni_config import subnets_in
from supervision.state_file import read_private

SOURCE: Final = "pod network"
SERVICE: Final = "podCIDR"
"""Its name in `supervise status`; the runtime itself may consider its network fine."""


class NetworkProblem(NamedTuple):
    """Why pods may not start here, and what mends it."""

    cause: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.cause}: {self.remedy}"


NOT_GIVEN: Final = NetworkProblem(
    "the cluster has given this node no podCIDR, which the managed container runtime needs",
    "start kube-controller-manager with --allocate-node-cidrs, or use a runtime with the cluster's own CNI "
    "configuration",
)


def problem(given: str, used: list[str]) -> NetworkProblem | None:
    """Why pods may not start here; None if they may.

    `given`: podCIDRs of the node, joined by commas. `used`: networks of the runtime, none while it has none.
    """
    wanted = [_clean(text) for text in given.split(",") if text]
    if not wanted:
        return NOT_GIVEN
    if used and [_clean(text) for text in used] != wanted:
        return NetworkProblem(
            f"the managed container runtime gives pods addresses of {', '.join(used)}, and the node's podCIDR "
            f"is {given}",
            "drain the node; supervise stop; supervise reset; then start it again",
        )
    return None


def read(runtime_dir: str) -> list[str]:
    """The networks in the CNI configuration of the managed runtime. `runtime_dir`: its root directory."""
    try:
        file = min(Path(runtime_dir).glob(NETWORK_FILES))
        return subnets_in(read_private(file))
    except (OSError, ValueError):  # ValueError: there is no file
        return []


def _clean(text: str) -> str:
    try:
        return str(ipaddress.ip_network(text.strip(), strict=False))
    except ValueError:
        return text.strip()
