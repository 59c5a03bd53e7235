"""What forbids the start of an agent that is to join, and what does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.agent.start_checks import problems
from actors.shared.config.agent import Agent

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
