"""What forbids a start: each names its field and file, all come at once, with exit code 1 and no traceback."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from actors.shared.config.paths import run_dir_of
from actors.shared.config.start import refused_starts
from tests.support.agent_command import HARMLESS, SOURCES, START
from tests.support.tcp_ports import free_port

pytestmark = pytest.mark.tree
HEADER = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
KUBECONFIG = "apiVersion: v1\nkind: Config\nclusters: []\ncontexts: []\nusers: []\n"


BOOTSTRAP = """\
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:6443"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
current-context: c
users: [{name: u, user: {token: abcdef.0123456789abcdef}}]
"""


CPUS = "--cpu-manager-policy=static --kube-reserved=cpu=1"
MEMORY = "--memory-manager-policy=Static --kube-reserved=memory=1Gi --eviction-hard=memory.available<100Mi"
RESTORED = "could not restore state from checkpoint: "
DRAIN = "|, please drain this node and delete "
STATE_DRAIN = '|: please drain node and remove policy state file "{d}/root/cpu_manager_state"'


def cpu_state(shared: str, *, policy: str = "static", entries: str = "{}", checksum: int = 0) -> dict[str, str]:
    text = f'{{"policyName":"{policy}","defaultCpuSet":"{shared}","entries":{entries},"checksum":{checksum}}}'
    return {"root/cpu_manager_state": text}


def memory_state(policy: str = "Static", rest: str = '"machineState":{}', checksum: int = 0) -> dict[str, str]:
    return {"root/memory_manager_state": f'{{"policyName":"{policy}",{rest},"checksum":{checksum}}}'}


class Refusal(NamedTuple):
    name: str
    flags: str
    """{d} is the test's directory."""
    said: str
    """All of it is said, in this order; parts separated by |."""
    files: dict[str, str] = {}
    environment: dict[str, str] = {}


ROWS = (
    Refusal("an unknown flag", "--nope", "--nope: unknown flag"),
    Refusal("a word that is no flag", "extra", "extra: unexpected argument"),
    Refusal("a flag's bad value", "--max-pods=many", '--max-pods = "many": must be a whole number'),
    Refusal("a removed flag", "--container-runtime=docker", "--container-runtime|only remote exists"),
    Refusal("dockershim", "--experimental-dockershim", "--experimental-dockershim|cri-dockerd"),
    Refusal("a cloud provider", "--cloud-provider=aws", '--cloud-provider = "aws": must be empty or external'),
    Refusal("a label of others", "--node-labels=kubernetes.io/x=y", "--node-labels|label kubernetes.io/x"),
    Refusal("an address that is none", "--node-ip=1.2.3", '--node-ip = "1.2.3": must be an IP address'),
    Refusal("a host name that is none", "--hostname-override=a_b", "--hostname-override|DNS name"),
    Refusal("contention without lock", "--exit-on-lock-contention", "--exit-on-lock-contention|needs --lock-file"),
    Refusal("a root that is not clean", "--root-dir=/a/../b", "--root-dir|clean path"),
    Refusal("run once", "--runonce", "runOnce|supervise run-once"),
    Refusal("no such file", "--config={d}/none.yaml", "{d}/none.yaml|cannot be read: No such file"),
    Refusal("no YAML", "--config={d}/c.yaml", "{d}/c.yaml", {"c.yaml": "a: ["}),
    Refusal("another kind", "--config={d}/c.yaml", "kind: must be KubeletConfiguration|{d}/c.yaml",
            {"c.yaml": "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: Pod\n"}),
    Refusal("an unknown field", "--config={d}/c.yaml", "maxPodz|unknown field|{d}/c.yaml:3",
            {"c.yaml": f"{HEADER}maxPodz: 1\n"}),
    Refusal("an unknown gate", "--feature-gates=Nope=true", "featureGates.Nope|--feature-gates"),
    Refusal("a locked gate", "--feature-gates=NodeSwap=false", "featureGates.NodeSwap|--feature-gates"),
    Refusal("no drop-ins", "--config-dir={d}/none", "--config-dir: cannot be read|{d}/none"),
    Refusal("a drop-in without kind", "--config-dir={d}/c.d", "kind: must be|{d}/c.d/a.conf",
            {"c.d/a.conf": "maxPods: 3\n"}),
    Refusal("a hidden version of old", "--config={d}/c.yaml", "showHiddenMetricsForVersion|{d}/c.yaml:3",
            {"c.yaml": f"{HEADER}showHiddenMetricsForVersion: '1.10'\n"}),
    Refusal("a watchdog of a second", "", "WATCHDOG_USEC = 1000000: must be", environment={"WATCHDOG_USEC": "1000000"}),
    Refusal("no client CA", "--client-ca-file={d}/ca.crt", "x509.clientCAFile|{d}/ca.crt|cannot be read"),
    Refusal("a client CA without a certificate", "--client-ca-file={d}/ca.crt", "clientCAFile|no PEM block",
            {"ca.crt": "none"}),
    Refusal("no serving key", "--tls-cert-file={d}/a.crt --tls-private-key-file={d}/a.key",
            "tlsCertFile|{d}/a.crt|tlsPrivateKeyFile|{d}/a.key"),
    Refusal("a runtime that is no socket", "--container-runtime-endpoint=unix://{d}/file",
            "containerRuntimeEndpoint|{d}/file|not a socket", {"file": ""}),
    Refusal("more reserved than there is", "--system-reserved=cpu=10000",
            "cpu: kubeReserved, systemReserved and evictionHard are 1"),
    Refusal("a reserved cgroup that is not there",
            "--cgroups-per-qos --enforce-node-allocatable=system-reserved --system-reserved=cpu=1m "
            "--system-reserved-cgroup=/none/such",
            "systemReservedCgroup|/none/such|no such cgroup"),
    Refusal("no kubeconfig at all", "--kubeconfig={d}/k.conf", "--kubeconfig|{d}/k.conf"),
    Refusal("neither kubeconfig", "--kubeconfig={d}/k.conf --bootstrap-kubeconfig={d}/b.conf",
            "--kubeconfig|{d}/k.conf|--bootstrap-kubeconfig|{d}/b.conf"),
    Refusal("a kubeconfig without context", "--kubeconfig={d}/k.conf", "--kubeconfig: current-context|{d}/k.conf",
            {"k.conf": KUBECONFIG}),
    Refusal("bootstrap alone", "--bootstrap-kubeconfig={d}/b.conf", "--bootstrap-kubeconfig|needs --kubeconfig"),
    Refusal("no policy", "--policy={d}/p.yaml", "--policy|{d}/p.yaml|cannot be read"),
    Refusal("a bad policy", "--policy={d}/p.yaml", "actors.plegg|did you mean pleg?|{d}/p.yaml:2",
            {"p.yaml": "version: 1\nactors: {plegg: {memory_mib: 99}}\n"}),
    Refusal("no place for the log", "--log-file={d}/no/log", "--log-file: {d}/no/log"),
    Refusal("no place for the lock", "--lock-file={d}/no/lock", "--lock-file|{d}/no/lock"),
    # what the managers of CPUs, memory, claims and pods' resources kept, with the kubelet's words
    Refusal("a cut file of CPUs", CPUS, f"cpuManagerPolicy|{RESTORED}checkpoint is corrupted{DRAIN}the CPU manager "
            'checkpoint file "{d}/root/cpu_manager_state"', {"root/cpu_manager_state": '{"policyName":"sta'}),
    Refusal("a changed file of CPUs", CPUS, f"{RESTORED}checkpoint is corrupted, please drain",
            cpu_state("0-1", checksum=7)),
    Refusal("CPUs of another policy", CPUS, f'{RESTORED}configured policy "static" differs from state checkpoint '
            f'policy "none"{DRAIN}the CPU', cpu_state("", policy="none")),
    Refusal("CPUs of a policy that is off", "", 'configured policy "none" differs from state checkpoint policy '
            f'"static"{DRAIN}the CPU', cpu_state("0-1")),
    Refusal("CPUs of another machine", CPUS, f'doesn\'t match with CPUs in state "0-4095"{STATE_DRAIN}',
            cpu_state("0-4095")),
    Refusal("CPUs that are none", CPUS, f'{RESTORED}could not parse default cpu set "x"{DRAIN}', cpu_state("x")),
    Refusal("CPUs of a container that are none", CPUS, 'could not parse cpuset "y" for container "c" in pod "u"',
            cpu_state("0", entries='{"u":{"c":"y"}}')),
    Refusal("a CPU of a container that is shared", CPUS, 'pod: u, container: c cpuset: "0" overlaps with default '
            f'cpuset "0"{STATE_DRAIN}', cpu_state("0", entries='{"u":{"c":"0"}}')),
    Refusal("no shared CPUs", CPUS, f"default cpuset cannot be empty{STATE_DRAIN}",
            cpu_state("", entries='{"u":{"c":"0"}}')),
    Refusal("a directory in place of CPUs", CPUS, f"{RESTORED}Is a directory{DRAIN}the CPU",
            {"root/cpu_manager_state/x": ""}),
    Refusal("a cut file of memory", "", f"memoryManagerPolicy|{RESTORED}checkpoint is corrupted{DRAIN}the memory "
            'manager checkpoint file "{d}/root/memory_manager_state"', {"root/memory_manager_state": "{"}),
    Refusal("memory of another policy", f"{MEMORY} --reserved-memory=0:memory=1124Mi", f"{RESTORED}[memorymanager] "
            f'configured policy "Static" differs from state checkpoint policy "None"{DRAIN}the memory',
            memory_state("None")),
    Refusal("memory of another machine", f"{MEMORY} --reserved-memory=0:memory=1124Mi",
            "[memorymanager] the expected machine state is different from the real one (NUMA nodes: 4095 in the file, "
            "|now): please drain node and remove "
            'policy state file "{d}/root/memory_manager_state"', memory_state(rest='"machineState":{"4095":{'
            '"numberOfAssignments":0,"memoryMap":{},"cells":[4095]}}')),
    Refusal("memory of a node that is not there", f"{MEMORY} --reserved-memory=0:memory=1124Mi",
            "[memorymanager] (pod: u, container: c) the memory assignment uses the NUMA that does not exist",
            memory_state(rest='"machineState":{"4095":{"numberOfAssignments":1,"memoryMap":{},"cells":[4095]}},'
            '"entries":{"u":{"c":[{"numaAffinity":[4095],"type":"memory","size":1}]}}')),
    Refusal("a cut file of claims", "", "--root-dir|failed to get checkpoint dra_manager_state|, please drain this "
            'node and delete the file "{d}/root/dra_manager_state"', {"root/dra_manager_state": '{"Da'}),
    Refusal("claims of a kubelet 1.30", "", 'failed to get checkpoint dra_manager_state|delete the file "{d}',
            {"root/dra_manager_state": '{"version":"v1","entries":[],"checksum":1}'}),
    Refusal("a changed file of allocated resources", "", f"{RESTORED}checkpoint is corrupted{DRAIN}pod resource "
            'information checkpoint file "{d}/root/allocated_pods_state"',
            {"root/allocated_pods_state": '{"data":"{}","checksum":1}'}),
    Refusal("a cut file of actuated resources", "", f'{RESTORED}checkpoint is corrupted{DRAIN}pod resource '
            'information checkpoint file "{d}/root/actuated_pods_state"', {"root/actuated_pods_state": "{"}),
    # settings of these managers that contradict each other
    Refusal("reserved CPUs that are off", "--cpu-manager-policy=static --reserved-cpus=0,4095",
            'reservedSystemCPUs = "0,4095": reserved CPUs: 0,4095 is not a subset of online-CPUs: |--reserved-cpus'),
    Refusal("CPUs of their own without a reservation", "--cpu-manager-policy=static", "cpuManagerPolicy|[cpumanager] "
            "the static policy requires systemreserved.cpu + kubereserved.cpu to be greater than zero"),
    Refusal("options without the policy", "--cpu-manager-policy-options=full-pcpus-only=true",
            "cpuManagerPolicy|None policy: received unsupported options=map[full-pcpus-only:true]"),
    Refusal("options that exclude each other", f"{CPUS} --cpu-manager-policy-options=distribute-cpus-across-numa=true,"
            "prefer-align-cpus-by-uncorecache=true", "static policy options prefer-align-cpus-by-uncorecache and "
            "distribute-cpus-across-numa can not be used at the same time"),
    Refusal("a socket in place of one node", f"{CPUS} --feature-gates=CPUManagerPolicyAlphaOptions=true "
            "--cpu-manager-policy-options=align-by-socket=true --topology-manager-policy=single-numa-node",
            "cpuManagerPolicy|Topolgy manager single-numa-node policy is incompatible with CPUManager align-by-socket"),
    Refusal("an option of alpha without its gate", f"{CPUS} --cpu-manager-policy-options=align-by-socket=true",
            "cpuManagerPolicyOptions.align-by-socket|CPU Manager Policy Alpha-level Options not enabled, but option "
            '"align-by-socket" provided'),
    Refusal("an unknown option of CPUs", f"{CPUS} --cpu-manager-policy-options=x=true",
            'cpuManagerPolicyOptions.x|unknown CPU Manager Policy option: "x"'),
    Refusal("an option that is neither on nor off", "--topology-manager-policy=restricted "
            "--topology-manager-policy-options=prefer-closest-numa-nodes=yes",
            "topologyManagerPolicyOptions.prefer-closest-numa-nodes|bad value for option "
            '"prefer-closest-numa-nodes": strconv.ParseBool: parsing "yes": invalid syntax'),
    Refusal("fewer NUMA nodes than are allowed at least", "--topology-manager-policy=restricted "
            "--topology-manager-policy-options=max-allowable-numa-nodes=4",
            "topologyManagerPolicyOptions.max-allowable-numa-nodes|the minimum value of "
            '"max-allowable-numa-nodes" should not be less than 8'),
    Refusal("less memory reserved than is kept", f"{MEMORY} --reserved-memory=0:memory=1Gi", "memoryManagerPolicy|the "
            'total amount "1Gi" of type "memory" is not equal to the value "1124Mi" determined by Node Allocatable'),
    Refusal("no memory reserved", MEMORY, 'the total amount "0" of type "memory" is not equal to the value "1124Mi"'),
    Refusal("memory reserved on no node", f"{MEMORY} --reserved-memory=4095:memory=1124Mi",
            "the reserved memory configuration references a NUMA node 4095 that does not exist on this machine"),
    Refusal("huge pages reserved that pods may have", f"{MEMORY} "
            "--reserved-memory=0:memory=1124Mi,hugepages-2Mi=2Mi",
            'the total amount "2Mi" of type "hugepages-2Mi" is not equal to the value "0"'),
    Refusal("resource managers of pods", "--feature-gates=PodLevelResourceManagers=true",
            "featureGates.PodLevelResourceManagers|is not supported"),
    Refusal("a root that cannot be made", "--root-dir={d}/file/root", "{d}/file/root", {"file": ""}),
)  # fmt: skip


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    assert not tmp_path.joinpath("root/troupelet").exists(), "a start that is refused makes no state"
    for root in (f"{tmp_path}/root", f"{tmp_path}/file/root", "/b"):
        refused_starts.forget(run_dir_of(root))


def refused(directory: Path, flags: list[str], environment: dict[str, str] | None = None) -> list[str]:
    """The lines that are said."""
    usual = [f"--root-dir={directory}/root", f"--healthz-port={free_port()}", f"--port={free_port()}", *HARMLESS]
    done = subprocess.run(
        [*START, *usual, f"--container-runtime-endpoint=unix://{directory}/none.sock", *flags],
        cwd=SOURCES, env={**os.environ, **(environment or {})}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert (
        done.stderr.splitlines()[-1] == f"troupelet does not start: {len(lines)} error{'s' if len(lines) > 1 else ''}"
    )
    return lines


def in_order(text: str, parts: list[str]) -> bool:
    place = 0
    for part in parts:
        place = text.find(part, place)
        if place < 0:
            return False
    return True


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name.replace(" ", "-"))
def test_a_start_is_refused_with_a_text_that_names_what_is_wrong(row: Refusal, directory: Path) -> None:
    for name, text in row.files.items():
        file = directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    flags = row.flags.replace("{d}", str(directory)).split()
    lines = refused(directory, flags, row.environment)
    parts = row.said.replace("{d}", str(directory)).split("|")
    assert in_order("\n".join(lines), parts), lines


def test_a_fifo_in_place_of_a_state_file_is_not_waited_for(directory: Path) -> None:
    (directory / "root").mkdir(exist_ok=True)
    os.mkfifo(directory / "root/cpu_manager_state")
    text = "\n".join(refused(directory, CPUS.split()))
    assert in_order(text, [f"{RESTORED}not a regular file", *DRAIN.split("|"), "cpu_manager_state"]), text


def test_all_errors_of_flags_files_and_fields_are_reported_at_once(directory: Path) -> None:
    directory.joinpath("c.yaml").write_text(f"{HEADER}maxPods: -1\nsyncFrequency: soon\n")
    flags = [
        f"--config={directory}/c.yaml",
        f"--policy={directory}/p.yaml",
        "--nope",
        "--node-ip=x",
        "--read-only-port=-1",
    ]
    text = "\n".join(refused(directory, flags))
    assert in_order(text, ["--nope", "--node-ip", "--policy", "syncFrequency", "maxPods"])
    assert "readOnlyPort" in text


def test_errors_in_files_named_by_flags_are_reported_with_those_of_the_flags(directory: Path) -> None:
    directory.joinpath("k.conf").write_text(KUBECONFIG)
    directory.joinpath("p.yaml").write_text("version: 1\nactors:\n  nobody: {}\n  pleg: {memory_mib: -1}\n")
    flags = [f"--kubeconfig={directory}/k.conf", f"--policy={directory}/p.yaml", "--nope"]
    wanted = ["--nope", "--kubeconfig: current-context", "nobody", "p.yaml:3", "pleg", "p.yaml:4"]
    assert in_order(text := "\n".join(refused(directory, flags)), wanted), text
    done = subprocess.run(
        [*START[:-1], "config", "check", *flags], cwd=SOURCES, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert in_order(done.stderr, wanted), done.stderr
    # and so where all flags and fields are well
    done = subprocess.run(
        [*START[:-1], "config", "check", "-o", "json", *flags[:-1]],
        cwd=SOURCES, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert (done.returncode, found["valid"], len(found["problems"])) == (1, False, 3), found


def test_a_missing_kubeconfig_is_no_problem_with_a_bootstrap_kubeconfig(directory: Path) -> None:
    directory.joinpath("b.conf").write_text(BOOTSTRAP)
    flags = [f"--kubeconfig={directory}/k.conf", f"--bootstrap-kubeconfig={directory}/b.conf"]
    done = subprocess.run(
        [*START[:-1], "config", "check", *flags], cwd=SOURCES, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), done


def test_all_problems_of_the_host_are_reported_at_once_in_the_kubelets_order(directory: Path) -> None:
    directory.joinpath("file").write_text("")
    flags = [
        f"--client-ca-file={directory}/ca.crt", f"--container-runtime-endpoint=unix://{directory}/file",
        "--kube-reserved=memory=900Ti", f"--kubeconfig={directory}/k.conf",
    ]  # fmt: skip
    text = "\n".join(refused(directory, flags, {"WATCHDOG_USEC": "soon"}))
    assert in_order(text, ["WATCHDOG_USEC", "clientCAFile", "containerRuntimeEndpoint", "--kubeconfig", "memory"]), text


def test_a_runtime_that_does_not_listen_is_a_warning_only(directory: Path) -> None:
    from actors.agent.start_checks import warnings
    from actors.shared.config.loading import load

    path = directory / "runtime.sock"
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(path))
    (said,) = warnings(load([f"--container-runtime-endpoint=unix://{path}"]))
    assert f"{path}: nothing answers there" in said
    assert list(warnings(load(["--container-runtime-endpoint=managed"]))) == []
