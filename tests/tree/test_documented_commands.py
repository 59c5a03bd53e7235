"""Every command that the documents show is run, in their order: against a tree that has just been started.

`make` targets are only read (`make -n`): what they run is what the tests of their own run. `start` is judged, not run:
the fixture has started. What does not end by itself is right when it still runs, and ends when it is told to.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.shared.config.paths import run_dir_of
from tests.support.tcp_ports import free_port

pytestmark = [pytest.mark.tree, pytest.mark.slow]
ROOT = Path(__file__).parents[2]
SUPERVISE = [sys.executable, "-m", "actors.agent.command"]
DOCUMENTS = ("README.md", "CONTRIBUTING.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))))
GO_ON_SECONDS = 4.0
WELL_SECONDS = 60.0
"""For the replacement of an actor that loops, which takes longer while other tests use the processors."""
TUNABLES = "--set-kernel-tunables=false"
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web"},
    "spec": {"containers": [{"name": "main", "image": "nginx"}]},
}
FINDS_FAULTS = {"doctor", "status"}
"""Exit code 1 says that something is wrong, as it is: there is no runtime."""
NEED_NO_AGENT = {"config", "manifest", "demo", "run-once", "man"}
ENDLESS = {"top", "observe", "--follow", "-f", "demo"}


def commands(document: str) -> list[str]:
    blocks = re.findall(r"^```console\n(.*?)^```", (ROOT / document).read_text(), re.M | re.S)
    lines = [line for block in blocks for line in block.splitlines()]
    assert all(line.startswith("# ") for line in lines), lines
    return [line.removeprefix("# ") for line in lines]


class Node:
    """An agent without a runtime, in a directory of its own."""

    def __init__(self, directory: Path) -> None:
        self.root, self.log = directory / "root", directory / "agent.log"
        config = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "failCgroupV1": False,
            "failSwapOn": False,
            "makeIPTablesUtilChains": False,
            "cgroupsPerQOS": False,
            "enforceNodeAllocatable": [],
            "podLogsDir": str(directory / "logs"),
            "staticPodPath": str(directory / "pods"),
            "healthzPort": free_port(),
            "port": free_port(),
        }
        (directory / "pods").mkdir()
        (directory / "pods" / "web.json").write_text(json.dumps(POD))
        self.config = directory / "config.yaml"
        self.config.write_text(json.dumps(config))
        self.process: subprocess.Popen[bytes] | None = None
        self.was_ready = False
        """Since the document began: the one before may have ended with an injected fault."""

    def start(self) -> None:
        if self.process is None or self.process.poll() is not None:
            self._launch()
        elif self.was_ready:
            return
        end = time.monotonic() + WELL_SECONDS
        while not self.is_well():
            assert self.process is not None
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < end, self.run("tree").stdout + self.run("status").stdout + self.log.read_text()
            time.sleep(0.05)
        self.was_ready = True

    def is_well(self) -> bool:
        """All actors in service, none stopped or hung. Only `status`, which misses the runtime here, tells that."""
        health = self.run("status").stdout
        return self.run("tree").stdout.startswith("actors ready: ") and "signal" not in health and "hangs" not in health

    def _launch(self) -> None:
        flags = [f"--config={self.config}", f"--root-dir={self.root}", f"--log-file={self.log}"]
        endpoint = f"--container-runtime-endpoint=unix://{self.root}/none.sock"
        with self.log.open("ab") as out:
            command = [*SUPERVISE, "start", *flags, endpoint, "--hostname-override=documents", TUNABLES]
            self.process = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=out)

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        shutil.rmtree(run_dir_of(str(self.root)), ignore_errors=True)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """`supervise` with these words, for this agent."""
        no_agent = words[0] in NEED_NO_AGENT or words[:2] == ("policy", "check")
        place = [] if no_agent else [f"--root-dir={self.root}"]
        given = [word for word in words if not word.startswith("--root-dir")]
        process = subprocess.Popen(
            [*SUPERVISE, *given, *place], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        endless = ENDLESS & set(words)
        try:
            out, _ = process.communicate(timeout=GO_ON_SECONDS if endless else 30)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=10)
            return subprocess.CompletedProcess(words, 0 if endless else 124, out)
        return subprocess.CompletedProcess(words, process.returncode, out)


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    made = Node(tmp_path_factory.mktemp("documents"))
    try:
        yield made
    finally:
        made.stop()


def as_tested(words: list[str], directory: Path) -> list[str]:
    """The documented `supervise` command as it can be tried: start is judged, manual pages go into the directory."""
    if words[0] == "man":
        return ["man", str(directory / "man8")]
    if words[0] == "run-once" and "--help" not in words:
        return ["config", "check", *(word for word in words[1:] if "timeout" not in word), "--fail-cgroupv1=false"]
    if words[0] != "start":
        return words
    if policy := [word.removeprefix("--policy=") for word in words if word.startswith("--policy=")]:
        return ["policy", "check", *policy]
    return ["config", "check", *words[1:], "--fail-cgroupv1=false"]


def as_kubelet(words: list[str]) -> subprocess.CompletedProcess[str]:
    """What it answers by itself is asked of it; a start is judged."""
    command = [str(Path(sys.executable).with_name("kubelet")), *words]
    if words != ["--version"]:
        command = [*SUPERVISE, "config", "check", *words, "--fail-cgroupv1=false"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=30)


@pytest.mark.parametrize("document", [name for name in DOCUMENTS if (ROOT / name).exists()])
def test_every_documented_command_behaves_as_documented(document: str, node: Node) -> None:
    node.was_ready = False
    for command in commands(document):
        program, *words = shlex.split(command)
        if program == "make":
            shown = subprocess.run(
                ["make", "-n", *words], cwd=ROOT, capture_output=True, text=True, check=False, timeout=30
            )
            assert shown.returncode == 0, f"{command}: {shown.stderr}"
            continue
        if program == "kubelet":
            done = as_kubelet(words)
            assert done.returncode == 0, f"{document}: {command}: {done.stdout}"
            continue
        assert program in ("supervise", ".venv/bin/supervise"), command
        if words[0] == "reset":
            node.stop()
        else:
            node.start()
        done = node.run(*as_tested(words, node.root))
        assert done.returncode == (words[0] in FINDS_FAULTS), f"{document}: {command}: {done.stdout}"
        assert words[0] == "logs" or done.stdout.strip(), f"{command} says nothing"


def test_each_subcommand_is_shown_somewhere() -> None:
    text = subprocess.run(
        [*SUPERVISE, "--help"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=30
    ).stdout
    known = set(re.findall(r"^    ([\w-]+)", text, re.M))
    shown = {shlex.split(line)[1] for name in DOCUMENTS for line in commands(name) if "supervise" in line}
    assert known - shown <= {"demo"}, "demo is what `make run` runs"
