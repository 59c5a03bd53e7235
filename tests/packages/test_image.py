"""The image, as docs/install.md has it run: imported and started by a real containerd, whose pods the agent runs."""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.container_runtime.images import BUSYBOX_IMAGE
from actors.shared.linux import mountinfo
from tests.packages.conftest import needs, run
from tests.support.built import SOURCES
from tests.support.faulty_node import FaultyNode
from tests.support.runtime import RealRuntime

pytestmark = [pytest.mark.packages, pytest.mark.timeout(1800)]
POD = f"""\
apiVersion: v1
kind: Pod
metadata: {{name: memory, namespace: bench}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: '{BUSYBOX_IMAGE}'
    imagePullPolicy: IfNotPresent
    command: [sh, -c, 'trap "exit 0" TERM; sleep 100000 & wait']
    readinessProbe: {{exec: {{command: [grep, '/data tmpfs', /proc/mounts]}}, periodSeconds: 1}}
    volumeMounts: [{{name: data, mountPath: /data}}]
  volumes: [{{name: data, emptyDir: {{medium: Memory, sizeLimit: 1Mi}}}}]
"""


def documented() -> list[list[str]]:
    """The commands of `ctr` in the section of the document, in their order."""
    section = SOURCES.joinpath("docs/install.md").read_text().partition("## In a container")[2].partition("\n## ")[0]
    boxes = "\n".join(re.findall(r"```text\n(.*?)```", section, re.S)).replace("\\\n", " ")
    return [shlex.split(line[2:]) for line in boxes.splitlines() if line.startswith("# ctr ")]


class ContainedNode(FaultyNode):
    """The agent in a container of the runtime of the test; its directory is in the place of /var/lib/kubelet."""

    def __init__(self, runtime: RealRuntime, image: Path) -> None:
        super().__init__(runtime, "contained")
        self._import, self._run, self._status, *self._end = documented()
        self._numbers = itertools.count()
        self._words(self._import, image=image)

    def _words(self, command: list[str], image: Path | None = None) -> str:
        """Run a documented command here; its output."""
        words = ["ctr", "--address", self.runtime.socket]
        for word in command[1:]:
            if image is not None and word.endswith(".oci.tar"):
                words += ["--snapshotter", self._snapshotter, str(image)]
            elif "/proc/1/ns/" in word:
                # those of the host, as this process is in them, too; where the test runs process 1 may be out of reach
                words.append(word.replace("/proc/1/", f"/proc/{os.getpid()}/"))
            elif word == "run":
                words += [word, "--snapshotter", self._snapshotter]
            elif word.startswith("type=bind") and "/var/lib/kubelet" in word:
                # the runtime's socket, and what else is on the host, is in directories of the test's
                base = f"type=bind,src={self.runtime.base},dst={self.runtime.base},options=rbind:rslave"
                words += [base, "--mount", word.replace("/var/lib/kubelet", str(self.home))]
            elif word.startswith("type=bind") and not Path(re.findall("src=([^,]+)", word)[0]).exists():
                words.pop()  # with its --mount
            elif word.startswith("--config="):
                words += self._flags()
            else:
                words.append(word)
        if command is self._status:
            words.append(f"--root-dir={self.home}/root")
        done = run(*words, seconds=120)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    @property
    def _snapshotter(self) -> str:
        return "overlayfs" if self.runtime.host.overlay else "native"

    def start(self) -> float:
        self._words(self._run)
        self.until(self.healthy, "/healthz ok")
        return 0.0

    def stop(self) -> float:
        """As documented: the task ends by itself, then it and its container are deleted."""
        if "troupelet" not in self._ctr("containers", "list", "--quiet"):
            return 0.0
        kill, *delete = self._end
        self._words(kill)
        self.until(lambda: "STOPPED" in self._ctr("tasks", "list"), "the agent's container has ended")
        for command in delete:
            self._words(command)
        return 0.0

    def status(self) -> str:
        return self._words(self._status)

    def within(self, *words: str) -> str:
        """Run a command in the agent's container; its output."""
        name = f"exec-{next(self._numbers)}"
        call = ["ctr", "--address", self.runtime.socket, "--namespace", "troupelet", "tasks", "exec", "--exec-id", name]
        done = run(*call, "troupelet", *words, seconds=120)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def _ctr(self, *words: str) -> str:
        return run("ctr", "--address", self.runtime.socket, "--namespace", "troupelet", *words).stdout


@pytest.fixture
def node(real_runtime: RealRuntime, image: Path) -> Iterator[ContainedNode]:
    made = ContainedNode(real_runtime, image)
    subprocess.run(["mount", "--bind", made.home, made.home], check=True, timeout=10)
    try:
        subprocess.run(["mount", "--make-rshared", made.home], check=True, timeout=10)
        yield made
    finally:
        made.remove()


def test_skopeo_reads_the_image_and_what_it_starts(image: Path) -> None:
    needs("skopeo")
    done = run("skopeo", "inspect", "--config", f"oci-archive:{image}")
    assert done.returncode == 0, done.stderr
    config = json.loads(done.stdout)["config"]
    assert config["Entrypoint"] == ["/usr/bin/supervise"]
    assert config["Cmd"][0] == "start"


def test_an_upgrade_of_the_package_leaves_the_agent_and_its_pods_running(node: ContainedNode, package: Path) -> None:
    node.add("plain")
    node.start()
    node.wait_running("plain")
    node.until(lambda: node.status().startswith("ready"), "the agent says that it is ready")
    before, root = node.running(), f"--root-dir={node.home}/root"
    shutil.copy(package, node.home / "upgrade.deb")
    assert "Unpacking troupelet" in node.within("dpkg", "--install", f"{node.home}/upgrade.deb")
    node.within("supervise", "inject", "pleg", "crash", root)
    node.until(lambda: node.status().startswith("ready"), "a part that ends then comes back")
    node.until(lambda: "pleg#1" in node.within("supervise", "incidents", root), "its end is recorded")
    assert node.running() == before
    node.stop()
    node.start()
    node.until(lambda: node.status().startswith("ready"), "the next agent is ready")
    assert node.running() == before


def test_the_agent_in_a_container_runs_pods_on_the_host_which_outlive_it(node: ContainedNode) -> None:
    node.write("memory", POD)
    node.add("plain")
    node.start()
    node.until(lambda: node.running().keys() == {"memory", "plain"}, "both pods run")
    node.until(lambda: node.status().startswith("ready"), "the agent says that it is ready")
    volume = [one for one in mountinfo.read() if one.point.startswith(f"{node.home}/root/pods/")]
    assert [one.kind for one in volume] == ["tmpfs"], "the volume is mounted on the host"
    before = node.running()
    node.stop()
    assert node.running() == before
    node.start()
    node.add("later")
    node.wait_running("later")
    assert {name: node.running()[name] for name in before} == before
    for manifest in node.manifests.glob("*.yaml"):
        manifest.unlink()
    node.until(lambda: not node.containers(), "all containers gone")
    node.until(
        lambda: not [one for one in mountinfo.read() if one.point.startswith(f"{node.home}/root/pods/")],
        "the volume is unmounted on the host",
    )
