"""What the doctor looks at where flags, files or the agent itself tell nothing."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import cast

import pytest

from actors.agent.doctor import host_checks
from actors.agent.doctor.command import findings
from actors.agent.doctor.finding import Finding, Level
from actors.agent.doctor.valid_part import valid_part
from actors.agent.validation import validate
from supervision.cli.agent_files import AgentFiles, LastStart
from supervision.cli.command import NO_ANSWER, NOT_RUNNING, REFUSED, CommandError, Context
from supervision.protocol import Tree

HOST = ("container runtime", "kernel", "cgroups", "swap", "disk")


def file(directory: Path, text: str) -> str:
    path = directory / "config.yaml"
    path.write_text(f"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n{text}")
    return f"--config={path}"


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_checks, "dns", lambda agent: iter(()))


def found(tmp_path: Path, *flags: str, code: int = NOT_RUNNING, last: LastStart | None = None) -> list[Finding]:
    """The findings of a doctor whose question to the agent ends with this code."""

    class NoAnswer:
        arguments = argparse.Namespace(root_dir=str(tmp_path), flags=list(flags))
        files = AgentFiles(tmp_path, tmp_path, last_start=lambda: last)

        def tree(self) -> Tree:
            raise CommandError(code, "no answer")

        def start_words(self) -> str:
            return ""

    return [*findings(cast(Context, NoAnswer()))]


def test_flags_and_fields_that_are_wrong_are_left_out(tmp_path: Path) -> None:
    words = [f"--root-dir={tmp_path}", "--max-pod=3", "--port=99999", file(tmp_path, "maxPods: -4\npodPidsLimit: 7\n")]
    part = valid_part(words, validate(words)[1])
    assert part is not None
    assert part.checked == "without --max-pod, --port, maxPods"
    assert (part.agent.config.podPidsLimit, part.agent.config.maxPods, part.agent.config.port) == (7, 110, 10250)
    assert part.agent.root_dir == str(tmp_path)


def test_a_file_that_cannot_be_read_is_replaced_by_the_defaults(tmp_path: Path) -> None:
    words = [f"--root-dir={tmp_path}", "--max-pods=5", f"--config={tmp_path}/none"]
    part = valid_part(words, validate(words)[1])
    assert part is not None
    assert part.checked == "by the defaults in place of the files"
    assert (part.agent.root_dir, part.agent.config.maxPods) == (str(tmp_path), 5)


@pytest.mark.parametrize("wrong", ["--max-pod=3", "--port=99999", "--config=/none", "word"])
def test_the_host_is_checked_although_flags_or_files_are_invalid(tmp_path: Path, wrong: str) -> None:
    said = found(tmp_path, f"--root-dir={tmp_path}", wrong)
    assert {*HOST} <= {one.subject for one in said}
    (note,) = [one for one in said if one.level is Level.UNKNOWN and one.subject == "configuration"]
    assert note.text.startswith("not valid: what follows checks this host ")


def test_the_host_is_checked_for_the_last_start_of_an_agent_that_does_not_answer(tmp_path: Path) -> None:
    last = LastStart([f"--root-dir={tmp_path}", "--cgroup-driver=systemd"], str(tmp_path), "")
    first, *others = found(tmp_path, code=NO_ANSWER, last=last)
    assert (first.subject, first.level, first.text) == ("agent", Level.FAILURE, "no answer")
    assert {*HOST} <= {one.subject for one in others}
    assert "cgroupDriver is systemd" in " ".join(one.text for one in others)
    assert not {"ports", "start"} & {one.subject for one in others}, "it listens, and has started"


def test_nothing_is_checked_for_a_user_who_may_not_ask(tmp_path: Path) -> None:
    assert [one.subject for one in found(tmp_path, code=REFUSED)] == ["agent"]
