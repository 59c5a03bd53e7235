"""The child spec of the managed containerd, for the tree."""

from __future__ import annotations

from actors.shared.config.start.open_files import OF_ANY_RUNTIME
from supervision.spec import ChildSpec, ProgramProbe

from . import containerd_config
from .declaration import POLICY
from .host import RuntimeHost
from .instance import ManagedRuntime
from .messages import CONTAINER_RUNTIME


def argv(instance: ManagedRuntime, host: RuntimeHost) -> tuple[str, ...]:
    """The command line. Containers are not its children (their shims are adopted by init), so they survive its end."""
    return (host.containerd, "--config", instance.config_file)


def child_spec(instance: ManagedRuntime, host: RuntimeHost, *, cluster: bool = False) -> ChildSpec:
    """The child spec: a program that is in service once its socket accepts. `cluster`: as in
    `containerd_config.render`."""
    return ChildSpec(
        name=CONTAINER_RUNTIME,
        program=argv(instance, host),
        environment={"PATH": host.search_path, "TMPDIR": instance.temporary},
        files={instance.config_file: containerd_config.render(instance, host, cluster=cluster)},
        open_files=OF_ANY_RUNTIME,
        ready_socket=instance.socket,
        probe=ProgramProbe(
            function="actors.shared.cri.liveness:probe",
            arguments={"path": instance.socket, "log_file": instance.log_file},
            stacks_file=f"{instance.temporary}/containerd.{{pid}}.stacks.log",
        ),
        log_file=instance.log_file,
        policy=POLICY,
    )
