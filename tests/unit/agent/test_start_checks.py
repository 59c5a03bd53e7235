"""What forbids the start of an agent that is to join, and what does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.agent.start_checks import problems
from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration

KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "https://127.0.0.1:6443"}}}}]
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
current-context: c
users: [{{name: u, user: {{client-certificate: {cert}, client-key: {cert}}}}}]
"""


@pytest.mark.parametrize("content", [None, "", "half a certif"])
@pytest.mark.parametrize(("folder", "forbids"), [("pki", False), ("elsewhere", True)])
def test_a_damaged_pair_of_our_own_store_forbids_no_start_as_it_may_be_mended(tmp_path, folder, forbids, content):
    pem = tmp_path / folder / "kubelet-client-current.pem"
    pem.parent.mkdir()
    if content is not None:
        pem.write_text(content)
    path = Path(tmp_path, "kubelet.conf")
    path.write_text(KUBECONFIG.format(cert=pem))
    agent = Agent(standalone=False, kubeconfig=str(path), cert_dir=str(tmp_path / "pki"))
    found = list(problems(agent))
    assert bool(found) is forbids
    assert all(str(pem) in str(problem) for problem in found)


@pytest.mark.parametrize(("root", "forbidden"), [("/busy/pods", True), ("/busy", True), ("/free", False), ("/", False)])
def test_on_cgroup_v2_a_cgroup_root_below_one_with_processes_forbids_the_start_by_name(tmp_path, root, forbidden):
    cgroups = tmp_path / "sys/fs/cgroup"
    (cgroups / "busy").mkdir(parents=True)
    (cgroups / "busy/cgroup.procs").write_text("7\n")
    (cgroups / "cgroup.controllers").write_text("cpu memory\n")
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text("30 1 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    config = KubeletConfiguration(cgroupRoot=root, cgroupDriver="cgroupfs")
    found = [str(problem) for problem in problems(Agent(config=config), str(tmp_path))]
    assert [("cgroupRoot" in text, "/busy has some" in text) for text in found] == [(True, True)] * forbidden
