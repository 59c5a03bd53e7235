"""The running containers, by their cgroups: also those that the runtime does not list.

A containerd that starts on a full disk lists none of its containers. Their images then seem to be unused, just when
images are removed to free the disk.
"""

from __future__ import annotations

from actors.shared.linux import cgroup_tree
from actors.shared.linux.cgroup_tree import CgroupTree
from actors.shared.stats import pod_cgroups


def running_containers(cgroup_root: str) -> set[str]:
    """IDs of the containers and sandboxes that have a process in the cgroup of a pod; none where no cgroup file
    system is mounted. Raises OSError if that cannot be read."""
    return running_in(cgroup_tree.find_mounted(), cgroup_root)


def running_in(tree: CgroupTree, cgroup_root: str) -> set[str]:
    """The same, of this tree."""
    pods = pod_cgroups.find(tree, cgroup_root).pods.values()
    return {each for pod in pods for each, path in pod.containers.items() if tree.processes(path)}
