"""Which shims an external containerd has forgotten: the decision, and what is read of a shim that runs."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.shared.cri import forgotten_shims
from actors.shared.cri.forgotten_shims import candidates, is_below
from actors.shared.cri.leaked_shims import LEAST_AGE_SECONDS, left_by_earlier_runtime
from actors.shared.cri.shims import Shim

OLD = LEAST_AGE_SECONDS + 1


@pytest.mark.parametrize(
    ("cgroup", "root", "below"),
    [
        ("/kubepods/burstable/podu/box", "/", True),
        ("/a/kubepods/podu/box", "/a", True),
        ("/a/kubepods/podu/box", "/", False),
        ("/kubepods/podu/box", "/a", False),
        ("/kubepods-other/podu/box", "/", False),
        ("/k8s.io/box", "/", False),
        ("kubepods-burstable-podu.slice:cri-containerd:box", "/", True),
        ("a-kubepods-podu.slice:cri-containerd:box", "a.slice", True),
        ("a-kubepods-podu.slice:cri-containerd:box", "/", False),
        ("", "/", False),
        ("../kubepods", "/", False),
    ],
)
def test_a_sandbox_is_of_this_agent_by_its_cgroup(cgroup: str, root: str, below: bool):
    assert is_below(cgroup, root) is below


def test_only_a_list_of_the_present_process_of_the_runtime_says_what_an_earlier_one_left():
    old, young = Shim(1, "a", 31.0), Shim(2, "b", 30.0)
    assert left_by_earlier_runtime([old, young], 30.0, 5.0) == [old]
    assert left_by_earlier_runtime([old, young], 30.0, 29.0) == []
    assert left_by_earlier_runtime([old, young], 0.0, 0.0) == [], "nothing listens there"


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    (tmp_path / "bundle").mkdir()
    return tmp_path / "bundle"


@pytest.fixture
def shim(tmp_path: Path, bundle: Path) -> Iterator[subprocess.Popen[bytes]]:
    program = tmp_path / "containerd-shim-runc-v2"
    program.symlink_to(sys.executable)
    code = "import time; print('up', flush=True); time.sleep(100)"
    argv = [str(program), "-c", code, "-namespace", "k8s.io", "-id", "box", "-address", f"{tmp_path}/our.sock"]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, cwd=bundle)
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.mark.usefixtures("shim")
def test_a_shim_with_its_bundle_is_a_candidate_once_the_runtime_was_started_again(
    tmp_path: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch
):
    (bundle / "config.json").write_text(json.dumps({"linux": {"cgroupsPath": "/a/kubepods/podu/box"}}))
    socket, now = f"{tmp_path}/our.sock", time.time() + OLD
    monkeypatch.setattr(forgotten_shims, "runtime_age", lambda *_: 300.0)
    assert candidates(socket, ["other"], now, 1.0, "/a") == ["box"]
    assert candidates(socket, ["other"], now, 1.0, "/") == [], "a pod of another agent"
    assert candidates(socket, ["box"], now, 1.0, "/a") == []
    assert candidates(socket, ["other"], now - 60, 1.0, "/a") == [], "a call may still be making it"
    monkeypatch.setattr(forgotten_shims, "runtime_age", lambda *_: 2 * OLD)
    assert candidates(socket, ["other"], now, 1.0, "/a") == [], "the present process has started it"


@pytest.mark.usefixtures("shim")
@pytest.mark.parametrize("text", ["", "{", "[]", '{"linux": {"cgroupsPath": 1}}', "{}"])
def test_a_shim_whose_bundle_tells_no_cgroup_is_left_alone(
    tmp_path: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch, text: str
):
    (bundle / "config.json").write_text(text)
    monkeypatch.setattr(forgotten_shims, "runtime_age", lambda *_: 300.0)
    assert candidates(f"{tmp_path}/our.sock", [], time.time() + OLD, 1.0, "/") == []
