"""The tests of joining against a cluster that they do not start: one of them, and a server that stands for it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.api_process import ApiProcess
from tests.support.fork_server_process import ROOT_DIR
from tests.support.joined import KUBECONFIG, NODE

TEST = "tests/node/joined/test_joining.py::test_the_node_is_registered_as_the_host_is"


def test_a_test_of_joining_runs_against_a_cluster_given_by_its_kubeconfig(tmp_path: Path) -> None:
    with ApiProcess(tmp_path / "api") as server:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", TEST, "-m", "node"],
            cwd=ROOT_DIR,
            env={**os.environ, KUBECONFIG: server.admin},
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-5000:]
        assert server.kubectl("get", "nodes", "-o", "name").split() == [f"node/{NODE}"]
