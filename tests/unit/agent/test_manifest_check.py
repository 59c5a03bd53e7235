from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from actors.agent.manifest_check import CheckedManifests, ManifestProblem, check_manifests
from actors.pod_config.manifests.manifest import SOURCE_FILE, Origin
from actors.pod_config.sources.file_source import FileSource

ROOT = Path(__file__).parents[3]
GOOD = "apiVersion: v1\nkind: Pod\nmetadata: {name: NAME}\nspec: {containers: [{name: main, image: nginx}]}\n"
BAD = "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\nspec: {hostNam: h, containers: [{name: M, imag: nginx}]}\n"


def check(*names: str, stdin: bytes = b"", allow_references: bool = False) -> CheckedManifests:
    return check_manifests(names, io.BytesIO(stdin), allow_references=allow_references)


def supervise(*words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "actors.agent.command", "manifest", "check", *words]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=30, cwd=ROOT, check=False)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "web.yaml").write_text(GOOD.replace("NAME", "web"))
    (tmp_path / "bad.yaml").write_text(BAD)
    (tmp_path / "worse.yaml").write_text("kind: [")
    (tmp_path / ".hidden.yaml").write_text("nonsense")
    (tmp_path / "web.yaml~").write_text("nonsense")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "lost.yaml").write_text("nonsense")
    return tmp_path


def test_all_errors_of_all_files_come_at_once_with_file_and_field(directory: Path) -> None:
    found = check(str(directory))
    assert [Path(path).name for path in found.files] == ["bad.yaml", "web.yaml", "worse.yaml"]
    fields = {(Path(one.file).name, one.field) for one in found.errors}
    assert {
        ("bad.yaml", "spec.hostNam"),
        ("bad.yaml", "spec.containers[0].imag"),
        ("bad.yaml", "spec.containers[0].name"),
    } <= fields
    assert {name for name, _ in fields} == {"bad.yaml", "worse.yaml"}


def test_manifest_check_reports_the_errors_of_the_static_pod_source(directory: Path) -> None:
    os.mkfifo(directory / "pipe")
    with (directory / "large.yaml").open("wb") as file:
        file.truncate(64 << 20)
    source = FileSource(str(directory), lambda path: Origin(SOURCE_FILE, path, "n1"), lambda path: None)
    source.scan()
    while source.waiting:
        source.read_waiting()
    assert sorted(map(str, check(str(directory)).errors)) == sorted(source.errors())


def test_two_pods_of_one_name_are_reported(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(GOOD.replace("NAME", "web"))
    (refusal,) = check(str(tmp_path)).errors
    assert (refusal.file, refusal.field) == (f"{tmp_path}/b.yaml", "metadata.name")
    assert f"is also in {tmp_path}/a.yaml" in refusal.error


def test_stdin_that_is_closed_is_an_empty_manifest() -> None:
    command = f'exec "{sys.executable}" -m actors.agent.command manifest check - <&-'
    found = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=30, cwd=ROOT, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (1, "0 accepted, 1 refused\n", "-: empty\n")


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    missing = f"{tmp_path}/none.yaml"
    assert check(missing) == CheckedManifests([], [ManifestProblem(missing, "", "No such file or directory")])


@pytest.mark.parametrize("kind", ["Deployment", "KubeletConfiguration"])
def test_another_object_is_refused_for_its_kind_alone(kind: str) -> None:
    text = f"apiVersion: apps/v1\nkind: {kind}\nspec: {{replicas: 2, maxPods: 3}}\n"
    (found,) = check("-", stdin=text.encode()).errors
    assert str(found) == f"-: line 2: kind: must be 'Pod', not '{kind}'"


def test_a_manifest_may_come_from_stdin() -> None:
    assert check("-", stdin=GOOD.replace("NAME", "web").encode()) == CheckedManifests(["-"], [])
    assert [one.file for one in check("-", stdin=b"").errors] == ["-"]


def test_references_to_the_api_are_refused_unless_they_are_allowed() -> None:
    pod = GOOD.replace("NAME", "web").replace("spec: {", "spec: {serviceAccountName: robot, ").encode()
    assert [one.field for one in check("-", stdin=pod).errors] == ["spec.serviceAccountName"]
    assert check("-", stdin=pod, allow_references=True).errors == []


def test_the_exit_code_shows_whether_a_manifest_was_refused(directory: Path) -> None:
    done = supervise(str(directory))
    assert (done.returncode, done.stdout) == (1, "1 accepted, 2 refused\n")
    assert f"{directory}/bad.yaml: line 4: spec.containers[0].imag: unknown field, did you mean image?" in done.stderr
    done = supervise("-", stdin=GOOD.replace("NAME", "web"))
    assert (done.returncode, done.stdout) == (0, "1 accepted, 0 refused\n")


def test_json_output_has_the_same_errors(directory: Path) -> None:
    done = supervise(str(directory), "-o", "json")
    found = json.loads(done.stdout)
    assert done.returncode == 1
    assert {"file", "field", "error", "line"} == set(found["errors"][0])
    assert len(found["errors"]) == len(check(str(directory)).errors)
