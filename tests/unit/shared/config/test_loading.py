from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actors.shared.config.agent import Agent, run_dir_of
from actors.shared.config.errors import ConfigErrors
from actors.shared.config.fields.duration import Duration
from actors.shared.config.loading import load
from actors.shared.config.sources.checkpoints import ConfigCheckpoints, State, hash_of, layers_of
from actors.shared.config.sources.documents import Document
from actors.shared.config.start.host import host_facts

SAMPLES = Path(__file__).parent / "samples"


def problems_of(argv, host):
    with pytest.raises(ConfigErrors) as caught:
        load(argv, host)
    return [str(problem) for problem in caught.value.problems]


def test_an_agent_without_flags_is_standalone_and_secure(host):
    agent = load([], host)
    assert (agent.standalone, agent.node_name, agent.root_dir) == (True, "node-a", "/var/lib/kubelet")
    config = agent.config
    assert (config.authentication.anonymous.enabled, config.authorization.mode, config.readOnlyPort) == (
        False,
        "Webhook",
        0,
    )
    assert (config.healthzBindAddress, config.healthzPort) == ("127.0.0.1", 10248)
    assert config.evictionHard["memory.available"] == "100Mi"
    assert agent.warnings == ()


def test_this_machine_can_be_looked_at():
    host = host_facts()
    assert host.hostname
    assert host.context.cgroup_v2 in {True, False}


@pytest.mark.parametrize("name", ["kubeadm-1.21.yaml", "kubeadm-1.36.yaml"])
def test_the_configuration_of_a_real_cluster_is_accepted(name, host):
    agent = load([f"--config={SAMPLES / name}"], host)
    assert agent.config.clusterDNS == ["10.96.0.10"]
    assert agent.config.authentication.x509.clientCAFile == "/etc/kubernetes/pki/ca.crt"
    assert agent.config.syncFrequency == Duration(60)
    assert agent.config_sources["clusterDomain"] == f"{SAMPLES / name}:18"


def test_the_flags_of_kubeadm_1_21_are_accepted_with_warnings(host):
    flags = (
        "--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf "
        f"--config={SAMPLES / 'kubeadm-1.21.yaml'} --network-plugin=cni "
        "--pod-infra-container-image=k8s.gcr.io/pause:3.4.1"
    )
    agent = load(flags.split(), host)
    assert (agent.standalone, agent.kubeconfig) == (False, "/etc/kubernetes/kubelet.conf")
    assert [line.split()[0] for line in agent.warnings] == ["--network-plugin", "--pod-infra-container-image"]


def test_the_sample_with_everything_in_it_sets_every_field(host):
    agent = load([f"--config={SAMPLES / 'everything.yaml'}"], host)
    named = {path.partition(".")[0].partition("[")[0] for path in agent.config_sources}
    assert set(agent.config.__struct_fields__) - named == set()


@pytest.mark.parametrize(("cores", "workers"), [(None, 2), (1, 2), (4, 4), (8, 8), (256, 8)])
def test_a_large_machine_has_a_limited_number_of_workers(host, monkeypatch, cores, workers):
    monkeypatch.setattr("os.cpu_count", lambda: cores)

    assert load([], host).workers == workers
    assert load(["--workers=20"], host).workers == 20


def test_relative_paths_of_flags_start_at_the_working_directory(host, tmp_path):
    tmp_path.joinpath("p.yaml").write_text("version: 1\n")
    agent = load(["--root-dir=root", "--lock-file=lock", "--policy=p.yaml"], host)
    assert agent.policy == "version: 1\n"
    assert (agent.root_dir, agent.policy_file) == (str(tmp_path / "root"), str(tmp_path / "p.yaml"))
    assert agent.flags["lock-file"] == str(tmp_path / "lock")
    assert (agent.cert_dir, agent.pods_dir) == (f"{tmp_path}/root/pki", f"{tmp_path}/root/pods")


def test_each_root_directory_has_its_own_and_short_directory_of_sockets(tmp_path):
    long = str(tmp_path / ("x" * 200))
    assert run_dir_of(long) != run_dir_of(str(tmp_path))
    assert len(run_dir_of(long)) < 60
    assert run_dir_of("/var/lib/kubelet").endswith("/troupelet")


def test_a_runtime_that_is_found_is_used_unless_one_is_named(host):
    found = msgspec.structs.replace(host, sockets=("/var/run/crio/crio.sock",))
    assert load([], found).runtime_endpoint == "unix:///var/run/crio/crio.sock"
    named = load(["--container-runtime-endpoint=/run/x.sock"], found)
    assert (named.runtime_endpoint, named.image_endpoint) == ("unix:///run/x.sock", "unix:///run/x.sock")
    assert load([], host).runtime_endpoint == "unix:///run/containerd/containerd.sock"


def test_a_managed_runtime_has_its_socket_beside_the_run_directory(host, tmp_path):
    agent = load(["--container-runtime-endpoint=managed", f"--run-dir={tmp_path}/run"], host)
    assert agent.managed_runtime
    assert agent.runtime_endpoint == f"unix://{tmp_path}/run-containerd/containerd.sock"


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--node-labels=kubernetes.io/role=x"], "must not set this label"),
        (["--node-labels=foo.k8s.io/x=y"], "must not set this label"),
        (["--node-labels=-a=b"], "must be a name"),
        (["--runtime-cgroups=/a/../b"], "must be the name of a cgroup"),
        (["--node-labels=a=b c"], "its value must be"),
        (["--node-ip=1.2.3"], "must be an IP address"),
        (["--node-ip=10.0.0.1,10.0.0.2"], "one of IPv4 and one of IPv6"),
        (["--node-ip=0.0.0.0,fd00::1"], "must not include 0.0.0.0 or ::"),
        (["--cloud-provider=aws"], "must be empty or external"),
        (["--hostname-override=a_b"], "must be a DNS name"),
        (["--root-dir=/a/../b"], "must be a clean path"),
        (["--exit-on-lock-contention"], "needs --lock-file"),
        (["--image-credential-provider-config=/x"], "needs --image-credential-provider-bin-dir"),
        (["--bootstrap-kubeconfig=/x"], "needs --kubeconfig"),
        (["--windows-service"], "runs on Linux"),
        (["--windows-priorityclass=X"], "runs on Linux"),
        (["--workers=-1"], "must be from 0"),
        (["--minimum-container-ttl-duration=-1s"], "must not be negative"),
        (["--runonce"], "supervise run-once"),
        (["--reserved-cpus=0-99"], "online"),
    ],
)
def test_a_wrong_flag_is_reported(argv, said, host):
    (problem,) = problems_of(argv, host)
    assert said in problem


@pytest.mark.parametrize(
    "argv",
    [
        [
            "--node-labels=topology.kubernetes.io/zone=a,node.kubernetes.io/x=,sub.kubelet.kubernetes.io/y=z,mine=1,a.io/b=c"
        ],
        ["--node-ip=10.0.0.1,fd00::1"],
        ["--node-ip=::", "--cloud-provider=external"],
        ["--node-ip=::"],
        ["--node-ip=0.0.0.0"],
        ["--hostname-override= Node-B "],
        ["--seccomp-default"],
        ["--workers=3"],
    ],
)
def test_a_correct_flag_is_accepted(argv, host):
    assert isinstance(load(argv, host), Agent)


def test_a_host_without_a_usable_name_needs_an_override(host):
    odd = msgspec.structs.replace(host, hostname="my_host")
    assert "--hostname-override" in problems_of([], odd)[0]
    assert load(["--hostname-override=n1"], odd).node_name == "n1"


def test_the_name_of_the_node_is_trimmed_and_in_lower_case(host):
    assert host.hostname == "Node-A "
    assert load([], host).node_name == "node-a"
    assert load(["--hostname-override= Node-B "], host).node_name == "node-b"


def test_settings_of_one_node_are_flags_and_settings_that_nodes_share_are_fields(host, write):
    agent = load(["--max-pods=5", "--node-ip=10.0.0.1"], host)
    assert (agent.config.maxPods, agent.flags["node-ip"], "max-pods" in agent.flags) == (5, "10.0.0.1", False)
    (problem,) = problems_of([f"--config={write('nodeIP: 10.0.0.1')}"], host)
    assert problem.startswith("nodeIP: unknown field")


def test_problems_of_flags_files_and_fields_come_together(host, write):
    base = write("maxPods: -1\nnope: 1\n")
    said = problems_of([f"--config={base}", "--node-ip=x", "--port=0", "word"], host)
    assert len(said) == 5


def test_errors_of_the_file_are_reported_even_if_the_policy_cannot_be_read(host, tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: -1\n")
    said = problems_of([f"--config={path}", f"--policy={tmp_path}/gone.yaml"], host)
    assert [line.split(" ")[0] for line in said] == ["--policy", "maxPods"]


def test_errors_of_flags_are_reported_even_if_the_file_cannot_be_read(host):
    said = problems_of(["--config=/nowhere", "--max-pods=-1"], host)
    assert ["cannot be read" in said[0], "--max-pods" in said[1], len(said)] == [True, True, 2]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(alphabet=" \n-:{}[]&*!'\"#,aA01.", max_size=40))
def test_no_file_makes_loading_fail_otherwise_than_by_its_own_error(write, host, text):
    path = write(f"maxPods: {text}\nlogging: {text}\n{text}")
    try:
        assert load([f"--config={path}"], host).config
    except ConfigErrors as error:
        said = str(error)
        assert path in said


def test_gates_and_labels_come_from_the_agent(host):
    agent = load(["--feature-gates=EventedPLEG=true,AllAlpha=false,AllBeta=false", "--node-labels=a=b"], host)
    assert agent.gate("EventedPLEG")
    assert not agent.gate("ContainerCheckpoint")
    assert agent.gate("SidecarContainers")
    assert agent.node_labels == {"a": "b"}
    with pytest.raises(KeyError):
        agent.gate("Nope")


def test_the_sample_that_is_shipped_is_accepted_and_strict(host):
    sample = Path(__file__).parents[4] / "etc/kubelet-config.yaml"
    agent = load([f"--config={sample}"], host)
    assert (agent.config.seccompDefault, agent.config.podPidsLimit, agent.warnings) == (True, 4096, ())


def test_a_standalone_agent_with_open_access_is_refused(host, write):
    (problem,) = problems_of(["--anonymous-auth"], host)
    assert problem.startswith("authorization.mode")
    kubeconfig = write("", "kubeconfig")
    assert load(["--anonymous-auth", f"--kubeconfig={kubeconfig}"], host)
    assert load(["--anonymous-auth", "--authorization-mode=AlwaysAllow"], host)


def test_the_configuration_in_force_is_that_of_the_checkpoint_and_not_of_the_file(host, tmp_path):
    store = ConfigCheckpoints(str(tmp_path / "troupelet" / "config"))
    store.prepare()
    documents = [Document("/before.yaml", {"maxPods": 7}, {"maxPods": 3})]
    store.put(hash_of(documents), layers_of(documents))
    store.save(State(current=hash_of(documents)))
    (tmp_path / "config.yaml").write_text("maxPods: [")
    argv = [f"--root-dir={tmp_path}", f"--config={tmp_path}/config.yaml"]
    found = load(argv, host, in_force=True)
    assert (found.config.maxPods, found.config_sources["maxPods"]) == (7, "/before.yaml:3")
    with pytest.raises(ConfigErrors):
        load(argv, host)


@pytest.mark.parametrize(
    ("path", "warned"), [("/r/pods", True), ("/r/pods/mine", True), ("/r/podspec", False), ("/r", False)]
)
def test_manifests_in_the_directory_of_the_pods_files_are_warned_about(path: str, warned: bool) -> None:
    warnings = load(["--root-dir=/r", f"--pod-manifest-path={path}"]).warnings
    assert any("give manifests a directory of their own" in line for line in warnings) == warned
