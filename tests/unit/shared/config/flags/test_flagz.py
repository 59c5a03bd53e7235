import pytest

from actors.shared.config.agent import Agent
from actors.shared.config.errors import MASKED
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.config.flags.flag_table import FLAGS
from actors.shared.config.flags.flagz import flags_in_force
from actors.shared.config.flags.parsing import parse
from actors.shared.config.flags.values import PARSERS
from actors.shared.config.loading import load

GIVEN = {
    "node-labels": "c=d,node.kubernetes.io/a=b",
    "register-with-taints": "a=b:NoSchedule,c:NoExecute",
    "reserved-memory": "0:hugepages-1Gi=2Gi,memory=1Gi;1:memory=2Gi",
    "eviction-hard": "memory.available<5%,nodefs.available<1Gi",
    "vmodule": "pleg=5,pod_workers*=3",
    "cluster-dns": "10.96.0.10,fd00::10",
    "feature-gates": "DynamicKubeletConfig=true,EventedPLEG=true",
    "sync-frequency": "1m30s",
    "serialize-image-pulls": "false",
    "max-pods": "50",
    "hostname-override": "n1",
}


@pytest.fixture
def agent(host):
    return load(
        [
            "--kube-reserved=memory=3Gi", "--memory-manager-policy=Static", "--manifest-url-header=a:secret",
            *(f"--{name}={text}" for name, text in GIVEN.items()),
        ],
        host,
    )  # fmt: skip


def test_every_flag_is_shown(agent):
    assert set(flags_in_force(agent, agent.config)) == set(FLAGS)


def test_the_directory_of_certificates_moves_with_the_root_directory():
    agent = Agent(root_dir="/data/kubelet", cert_dir="/data/kubelet/pki")
    assert flags_in_force(agent, agent.config)["cert-dir"] == "/data/kubelet/pki"


@pytest.mark.parametrize("name", sorted(GIVEN))
def test_a_flag_that_was_given_is_shown_as_it_was_written(name, agent):
    assert flags_in_force(agent, agent.config)[name] == GIVEN[name]


@pytest.mark.parametrize("name", sorted(set(FLAGS) - {"manifest-url-header", "storage-driver-password"}))
def test_each_shown_flag_can_be_given(name, agent):
    text = flags_in_force(agent, agent.config)[name]
    if text:
        parsed = parse([f"--{name}={text}"])
        assert parsed.problems == []
        assert parsed.values[name] == PARSERS[FLAGS[name].kind](text, None)


def test_a_field_of_the_file_shows_in_the_flag_of_the_same_meaning(host, write):
    agent = load([f"--config={write('maxPods: 33')}"], host)
    assert flags_in_force(agent, agent.config)["max-pods"] == "33"


def test_secrets_are_not_shown(agent):
    shown = flags_in_force(agent, agent.config)
    assert shown["manifest-url-header"] == shown["storage-driver-password"] == MASKED


def test_a_url_is_shown_without_its_password():
    config = KubeletConfiguration(staticPodURL="https://user:secret@host/")
    assert flags_in_force(Agent(config=config), config)["manifest-url"] == "https://user:xxxxx@host/"
