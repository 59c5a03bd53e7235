"""What others wrote (manifests, files, messages of the runtime) controls no terminal: control characters are shown, as
`^[`."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import pytest

from actors.agent.doctor import command as doctor
from actors.agent.doctor.finding import failure
from actors.agent.run_once import RunPodResult, _show
from supervision.cli.agent_files import AgentFiles
from supervision.cli.command import Context

ROOT = Path(__file__).parents[4]
CLEAR = "\x1b[2J"
CONFIGURATION = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"\\e[2J": 1\n'


def said(*words: str) -> str:
    command = [sys.executable, "-m", "actors.agent.command", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, cwd=ROOT, check=False)
    return done.stdout + done.stderr


def test_a_manifest(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text('{"kind": "Pod", "\\u001b[2J": 1}')
    assert "^[[2J: unknown field" in said("manifest", "check", str(file))


@pytest.mark.parametrize("command", ["start", "run-once", "config check", "config show"])
def test_a_configuration(tmp_path: Path, command: str) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(CONFIGURATION)
    flags = (f"--config={file}", f"--root-dir={tmp_path}/root", f"--run-dir={tmp_path}/run")
    assert "^[[2J: unknown field" in said(*command.split(), *flags)


def test_an_outcome_of_run_once(capsys: pytest.CaptureFixture[str]) -> None:
    _show([RunPodResult("web", "failed", f"{CLEAR}no such image")], "")
    assert "(^[[2Jno such image)" in capsys.readouterr().out


def test_a_finding_of_doctor(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(doctor, "findings", lambda context: [failure("pod", f"{CLEAR}refused", "look")])
    arguments = argparse.Namespace(root_dir="/r", run_dir="", output="text", all=False, flags=[])
    doctor.run(Context(arguments, lambda _: AgentFiles(Path("/nowhere"), Path("/nowhere/incidents"))))
    assert "^[[2Jrefused" in capsys.readouterr().out
