import pytest

from actors.shared.config.start.host import HostFacts
from actors.shared.config.validation.rule_kinds import ValidationContext

HEADER = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


@pytest.fixture
def host(tmp_path):
    """A machine of eight CPUs called Node-A, cgroup v2, without a runtime."""
    context = ValidationContext(online_cpus=frozenset(range(8)), cgroup_v2=True)
    return HostFacts(hostname="Node-A ", directory=str(tmp_path), context=context)


@pytest.fixture
def write(tmp_path):
    """Write a configuration file below tmp_path, with its header unless told otherwise; gives its path."""

    def write(text, name="kubelet.yaml", header=True):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((HEADER if header else "") + text)
        return str(path)

    return write
