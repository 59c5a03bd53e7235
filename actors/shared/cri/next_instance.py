"""Whether an ended instance of a container is followed by another one. Pure."""

from __future__ import annotations

from actors.shared.kube.container import Container
from actors.shared.kube.pod import Pod
from actors.shared.kube.restart_policy import init_exit_code, may_restart

from .model import CriContainer


def starts_again(pod: Pod, container: Container, ended: CriContainer, *, init: bool) -> bool:
    """Whether it starts again: by its policy, or because its start was given up, which does not count as an exit."""
    code = init_exit_code(ended.exit_code, ended.reason) if init else ended.exit_code
    return ended.start_given_up or may_restart(pod, container, code, init=init)
