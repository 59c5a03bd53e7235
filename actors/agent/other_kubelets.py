"""Kubelets of this host: one on our root directory would fight the agent for each pod."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from actors.container_runtime.processes import commands
from actors.shared.config.errors import ConfigProblem
from supervision.cli.typed_commands import DEFAULT_ROOT_DIR


def kubelets() -> Iterator[tuple[int, str]]:
    """Pid and root directory of every kubelet of this host. Ours has no such name in the table of processes."""
    for pid, argv in commands():
        if os.path.basename(argv[0]) == "kubelet" and pid != os.getpid():
            yield pid, _root_of(argv)


def kubelet_on(root_dir: str) -> int:
    """The pid of a kubelet with this root directory; 0 for none. One in a container may have another directory of the
    same name."""
    for pid, its_root in kubelets():
        try:
            if os.path.samefile(f"/proc/{pid}/root{its_root}", root_dir):
                return pid
        except OSError:
            continue  # it has ended, or one of the two paths is missing
    return 0


def kubelet_here(root_dir: str) -> Iterator[ConfigProblem]:
    """The problem with a kubelet on the root directory of an agent, if there is one."""
    if pid := kubelet_on(root_dir):
        yield ConfigProblem(
            "--root-dir", "", f"a kubelet with pid {pid} runs on {root_dir}: stop it first, its pods go on"
        )


def _root_of(argv: Sequence[str]) -> str:
    for at, word in enumerate(argv):
        name, equals, value = word.partition("=")
        if name in ("--root-dir", "-root-dir"):
            return os.path.abspath(value if equals else "".join(argv[at + 1 : at + 2]))
    return DEFAULT_ROOT_DIR
