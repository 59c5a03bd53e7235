import pickle

from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration


def test_directories_are_below_the_root_directory():
    agent = Agent(root_dir="/r")
    inside = [agent.pods_dir, agent.plugins_dir, agent.plugins_registry_dir, agent.device_plugins_dir]
    inside += [agent.pod_resources_dir, agent.checkpoints_dir, agent.seccomp_dir, agent.state_dir, agent.pod_dir("u")]
    inside += [agent.managed_runtime_dir, agent.config_checkpoint_dir]
    assert all(path.startswith("/r/") for path in inside)
    assert len(set(inside)) == len(inside)
    assert agent.pod_logs_dir == "/var/log/pods"


def test_the_serving_certificate_is_made_unless_it_is_given():
    assert Agent(cert_dir="/c").serving_cert_file == "/c/kubelet.crt"
    given = Agent(config=KubeletConfiguration(tlsCertFile="/x.crt", tlsPrivateKeyFile="/x.key"))
    assert (given.serving_cert_given, given.serving_cert_file, given.serving_key_file) == (True, "/x.crt", "/x.key")


def test_seccomp_is_on_by_field_or_by_flag():
    assert not Agent().seccomp_default
    assert Agent(flags={"seccomp-default": True}).seccomp_default
    assert Agent(config=KubeletConfiguration(seccompDefault=True)).seccomp_default


def test_another_configuration_makes_another_agent_and_leaves_this_one():
    agent = Agent(node_name="n")
    other = agent.with_configuration(KubeletConfiguration(maxPods=3))
    assert (other.config.maxPods, other.node_name, agent.config.maxPods) == (3, "n", 110)


def test_an_agent_survives_pickling():
    agent = Agent(config=KubeletConfiguration(maxPods=3))
    assert pickle.loads(pickle.dumps(agent)) == agent
