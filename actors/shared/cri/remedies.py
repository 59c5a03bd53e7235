"""What mends a container runtime or a pod network that does not work, for `supervise status` and `supervise doctor`."""

from __future__ import annotations

import shutil
from pathlib import Path
from shlex import quote
from typing import Final, NamedTuple

import msgspec

from actors.shared.config.agent import NETWORK_FILES
from actors.shared.config.endpoints import RUNTIME_SOCKETS, SCHEME, socket_of
from actors.shared.linux.services import log_of, ordered

from .reachability import unreached


class _Runtime(NamedTuple):
    part: str
    """A part of the path of its socket."""
    unit: str
    program: str


_RUNTIMES: Final = (_Runtime("crio", "crio", "crio"), _Runtime("cri-dockerd", "cri-docker", "cri-dockerd"))
_CONTAINERD: Final = _Runtime("containerd", "containerd", "containerd")


class RuntimeRemedies(msgspec.Struct, frozen=True):
    """What mends one runtime or image service. Each text looks at the host when it is asked for, and not before."""

    endpoint: str
    log: str = ""
    """The log file of a managed runtime, which is no service of the host, and which the agent starts again by
    itself."""
    root: str = ""
    """The root directory of a fake host."""

    @property
    def absent(self) -> str:
        """No program listens on its socket."""
        if self.log:
            return f"wait: the agent starts its runtime again; if it stays: {self._look}"
        _, unit, program = self._runtime
        return _absent(self.endpoint, unit, program, self.root)

    @property
    def silent(self) -> str:
        """It does not answer."""
        if self.log:
            return self._look
        _, unit, program = self._runtime
        status, restart = (ordered(unit, order, program, self.root) for order in ("status", "restart"))
        return f"{status}; {self.errors}; {restart}: containers keep running"

    @property
    def errors(self) -> str:
        """It answers with errors, or that it is not ready."""
        if self.log:
            return self._look
        _, unit, program = self._runtime
        return log_of(unit, program, self.root)

    @property
    def _look(self) -> str:
        return f"supervise incidents container_runtime; tail {quote(self.log)}"

    @property
    def _runtime(self) -> _Runtime:
        return next((one for one in _RUNTIMES if one.part in self.endpoint), _CONTAINERD)


def _absent(endpoint: str, unit: str, program: str, root: str) -> str:
    """A service makes its own socket alone, so another path is the endpoint's fault, or that of a runtime that this
    module does not know."""
    path = socket_of(endpoint)
    other = next((one for one in RUNTIME_SOCKETS if one != path and not unreached(f"{SCHEME}{root}{one}")), "")
    name = "set containerRuntimeEndpoint to the socket of another"
    if other:
        name = f"containerRuntimeEndpoint: {SCHEME}{other}, where one answers"
    if path not in RUNTIME_SOCKETS:
        start = "start the runtime that listens there"
        return f"{name}; or {start}" if other else f"{start}, or {name}"
    start = ordered(unit, "start", program, root)
    installed = "" if shutil.which(program) else f"install {program}, then "
    return f"{installed}{start}, or {name}"


def turn_on_cri(root: str = "") -> str:
    """For a containerd of the host: Docker's own packages turn the plug-in off. `root`: as in RuntimeRemedies."""
    restart, log = ordered("containerd", "restart", root=root), log_of("containerd", root=root)
    return f"take cri out of disabled_plugins in containerd's config.toml, then {restart}; {log}"


def managed_network(log: str, *, cluster: bool = False) -> str:
    """For the pod network of a managed runtime, whose configuration the agent makes. `log`: its log file. `cluster`:
    the node is one of a cluster, which must give it a podCIDR first."""
    if cluster and not any(Path(log).parent.glob(NETWORK_FILES)):
        return "wait: the agent makes the configuration once the cluster has given this node a podCIDR"
    return (
        "wait: the agent makes the configuration again and restarts its runtime; if it stays: "
        f"apt-get install containernetworking-plugins; tail {quote(log)}"
    )


def network_plugin(directories: str = "/etc/cni/net.d /opt/cni/bin") -> str:
    """For a pod network that is not ready. `directories`: those of the runtime's CNI files, in which it looks for
    configurations and plugins."""
    return (
        f"ls {directories}: if one is empty, install the cluster's network plugin (kubectl apply -f ...); "
        "else correct the file, and restart the runtime, which does not see each change"
    )
