"""What mends problems that both `supervise status` and `supervise doctor` find."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from typing import Final

from actors.config_controller.messages import Flagz
from actors.shared.config.version import git_version
from actors.shared.kube.names import SOURCE_API

RESTART: Final = "restart the agent: pods keep running"
MEND_CONFIGURATION: Final = "supervise config check; mend what it names: the agent reads it again by itself"
MEND_MANIFEST: Final = "mend the file; the agent reads it again by itself"
MEND_POD: Final = "correct the pod at the API server, or delete it"
RESOLVER: Final = "mend the file, or set resolvConf to the file that this host has"


def of_configuration(rolled_back: str) -> str:
    """For one that is not in force. `rolled_back`: its hash if it is valid, and was rolled back."""
    if rolled_back:
        return f"supervise config history: why; change it, or try it again: supervise config rollback {rolled_back}"
    return MEND_CONFIGURATION


def of_serving(path: str, *, given: bool) -> str:
    """For a serving certificate. `given`: by the operator."""
    if given:
        return "renew it, or set tlsCertFile to another file"
    return f"rm {shlex.quote(path)}: the agent makes another"


def of_manifests(path: str) -> str:
    """For a staticPodPath that is not there."""
    return f"mkdir -p {shlex.quote(os.path.realpath(path))}, or correct staticPodPath"


def of_records(*, running: bool) -> str:
    """For the record of the agent's starts, which the next start writes again."""
    return RESTART if running else "start the agent once, before `supervise reset`"


def awaits_restart(flagz: Flagz) -> bool:
    """Whether anything acts only after a restart of the agent: fields, or the installed version."""
    return bool(flagz.waiting) or flagz.version != git_version()


def other_version(running: str) -> str:
    """What is wrong with an agent that was not restarted after an upgrade."""
    return f"version {running} runs, and {git_version()} is installed: it acts after a restart; pods keep running"


def unread(sources: Sequence[str]) -> str:
    """For sources of pods that have not been read yet. Only the connection to the API server keeps its pods back."""
    if tuple(sources) == (SOURCE_API,):
        return "supervise logs kube_client: why the API server does not give them"
    return "supervise logs pod_config"
