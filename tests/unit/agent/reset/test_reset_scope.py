"""What `supervise reset` takes for this agent's, and when it refuses."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from actors.agent import command
from actors.agent.reset.cgroups import kept_for_others
from actors.agent.reset.command import _remove, done, listed, with_kept
from actors.agent.reset.host_resources import HostResources, files, links, look, mounts, remaining, sockets
from actors.agent.reset.removal import remove
from actors.agent.reset.scope import Scope
from actors.shared.config.paths import managed_state_dir, run_dir_of
from actors.shared.config.start import start_records
from actors.shared.config.start.start_records import StartRecord, with_start
from actors.shared.linux import mountinfo
from supervision.cli.agent_files import AgentFiles
from supervision.cli.command import Context
from supervision.unfinished_files import temporary_name
from tests.support.deep_directory import make_deep
from tests.support.kept_files import KEPT


def at(root: Path, **more: object) -> StartRecord:
    fields: dict[str, object] = {
        "root_dir": str(root),
        "run_dir": f"{root}-run",
        "runtime_endpoint": "unix:///nowhere.sock",
        "pod_logs_dir": f"{root}-logs",
        "container_logs_dir": f"{root}-links",
        "cert_dir": f"{root}/pki",
        **more,
    }
    return StartRecord(**fields)  # type: ignore[arg-type]


def test_records_of_starts_are_kept_once_and_what_was_made_stays_made(tmp_path: Path) -> None:
    first = at(tmp_path, made=("/a",))
    moved = at(tmp_path, cgroup_root="/other")
    known = with_start([], first)
    assert with_start(known, at(tmp_path)) == known, "a second start finds all there"
    known = with_start(known, moved)
    assert [one.cgroup_root for one in known] == ["/", "/other"]
    known = with_start(known, first)
    assert [one.cgroup_root for one in known] == ["/other", "/"]
    assert {path for one in known for path in one.made} == {"/a"}


def test_directories_that_were_handed_over_stay_in_the_record_of_the_next_start(tmp_path: Path) -> None:
    (handed,) = with_start([], at(tmp_path, made=("/a",), handed_over=True))
    (again,) = with_start([handed], at(tmp_path))
    assert (again.made, again.handed_over) == (("/a",), False)


def test_a_cgroup_recorded_before_a_reboot_is_not_removed(tmp_path: Path) -> None:
    before = at(tmp_path, made=("/a", "/sys/fs/cgroup/old"), made_cgroups=("/sys/fs/cgroup/x",), boot="one")
    assert Scope(starts=[before], boot="one").made == {"/a", "/sys/fs/cgroup/x"}
    assert Scope(starts=[before], boot="two").made == {"/a"}
    (after,) = with_start([before], at(tmp_path, made_cgroups=("/sys/fs/cgroup/y",), boot="two"))
    assert after.made_cgroups == ("/sys/fs/cgroup/y",)


def test_temporary_files_of_killed_writers_are_removed(tmp_path: Path) -> None:
    left = [tmp_path / name for name in ("actuated_pods_state", "device-plugins/checkpoint", "pki/kubelet.key")]
    for path in left:
        path.parent.mkdir(exist_ok=True)
        Path(temporary_name(path)).touch()
    (tmp_path / ".mine.7").touch()
    scope = Scope(starts=[at(tmp_path)])
    found = look(scope, [])
    assert {*found.found["files"]} == {temporary_name(path) for path in left}
    assert found.stays == [f"{tmp_path}/.mine.7"]
    assert remove(scope, [], alone=False) == []
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == [".mine.7"]


def test_foreign_cgroups_in_the_cgroup_root_are_shown_as_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = tmp_path / "cgroup"
    for name in ("root/kubepods/besteffort/podu1", "root/kubepods/podother", "root/mine"):
        (top / name).mkdir(parents=True)
    (tmp_path / "root" / "pods" / "u1").mkdir(parents=True)
    (top / "root" / "cgroup.procs").write_text("7\n")
    monkeypatch.setattr("actors.agent.reset.cgroups.processes.hierarchies", lambda: [str(top)])
    made = at(tmp_path / "root", cgroup_root="/root", made_cgroups=(f"{top}/root",), boot="b")
    scope = Scope(starts=[made], boot="b")
    assert remaining(scope) == [
        "cgroup /root, with processes of others",
        "cgroup /root/kubepods/podother",
        "cgroup /root/mine",
    ]
    assert done(HostResources({}, remaining(scope)))[0].startswith("nothing of the agent is left; what is not its own")
    assert done(HostResources({}, [])) == ["nothing is left"]


def test_records_of_starts_do_not_grow_for_ever(tmp_path: Path) -> None:
    known: list[StartRecord] = []
    for number in range(40):
        known = with_start(known, at(tmp_path, cgroup_root=f"/{number}"))
    assert [one.cgroup_root for one in known] == [f"/{number}" for number in range(24, 40)]


def test_reset_removes_certificates_only_from_directories_of_the_agent(tmp_path: Path) -> None:
    (tmp_path / "pki").mkdir()
    kept = Scope(starts=[at(tmp_path)])
    made = Scope(starts=[at(tmp_path, made=(f"{tmp_path}/pki",))])
    assert f"{tmp_path}/pki" not in [*files(kept)]
    assert f"{tmp_path}/pki" in [*files(made)]


@pytest.mark.parametrize("pattern", [row.pattern for row in KEPT if row.pattern.startswith("root/")])
def test_every_file_that_the_agent_keeps_in_its_root_directory_is_its_own(tmp_path: Path, pattern: str) -> None:
    file = tmp_path / pattern.replace("*", "x")
    file.parent.mkdir(parents=True)
    file.touch()
    root = tmp_path / "root"
    scope = Scope(starts=[at(root, made=(f"{root}/pki",))])
    own = {*files(scope), *sockets(scope)}
    assert f"{scope.starts[-1].run_dir}-refused" in own
    assert any(str(path) in own for path in (file, *file.parents)), own
    assert remaining(scope) == []


def test_only_logs_and_links_of_its_pods_are_its_own(tmp_path: Path) -> None:
    root, logs, link_dir = tmp_path / "root", tmp_path / "root-logs", tmp_path / "root-links"
    for directory in (root / "pods" / "u1", logs / "ns_mine_u1" / "main", logs / "ns_other_u2" / "main", link_dir):
        directory.mkdir(parents=True)
    for name, target in (("mine", "ns_mine_u1"), ("other", "ns_other_u2")):
        (link_dir / f"{name}.log").symlink_to(logs / target / "main" / "0.log")
    scope = Scope(starts=[at(root)])
    assert [*links(scope, {"u1"})][:1] == [f"{link_dir}/mine.log"]
    own = look(scope, [])
    assert own.found["files"] == [f"{logs}/ns_mine_u1", f"{link_dir}/mine.log", f"{root}/pods/u1"]
    assert own.found["pods"] == ["ns/mine (u1)"]
    assert "u2" not in str(own)


def test_the_list_names_kinds_once_and_shortens_what_is_long() -> None:
    there = HostResources({"pods": ["ns/a (u)"], "mounts": [f"/m{number}" for number in range(20)]}, ["/root/mine"])
    lines = listed("/root", there, everything=False)
    assert lines[:3] == ["of the agent in /root there are", "  pods        ns/a (u)", "  mounts      /m0"]
    assert lines[-2:] == ["              ... 13 more (--all)", "  not its own /root/mine (stays)"]
    assert len(listed("/root", there, everything=True)) == 23


def test_a_directory_without_an_agent_is_not_touched(tmp_path: Path, capsys) -> None:
    pod = tmp_path / "pods" / "u1"
    pod.mkdir(parents=True)
    assert command.main(["reset", "--yes", f"--root-dir={tmp_path}"]) == 0
    assert capsys.readouterr().out == f"there is nothing of an agent in {tmp_path}\n"
    assert pod.exists(), "it is a kubelet's"


def test_the_record_of_another_directory_is_ignored(tmp_path: Path, capsys) -> None:
    root = tmp_path / "copy"
    start_records._file(f"{root}/troupelet").save([at(tmp_path / "original", made=(str(tmp_path / "original"),))])
    (tmp_path / "original").mkdir()
    assert command.main(["reset", "--yes", f"--root-dir={root}", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["found"] == {"files": [f"{root}/troupelet"]}
    assert (tmp_path / "original").exists()
    assert not root.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="below /run")
def test_the_state_of_the_agents_containerd_goes_also_when_all_records_were_removed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "troupelet").mkdir(parents=True)
    state = Path(managed_state_dir(run_dir_of(str(root))))
    (state / "state").mkdir(parents=True)
    try:
        assert command.main(["reset", "--yes", f"--root-dir={root}"]) == 0
        assert not state.exists()
    finally:
        shutil.rmtree(state, ignore_errors=True)


@pytest.fixture
def kubelet(tmp_path: Path) -> Iterator[int]:
    """A process that looks like a kubelet on <tmp_path>/root."""
    with subprocess.Popen(
        ["kubelet", "-c", "read x", f"--root-dir={tmp_path}/root"], executable="/bin/sh", stdin=subprocess.PIPE
    ) as process:
        yield process.pid
        process.kill()


def test_a_kubelet_that_runs_on_the_directory_keeps_it(tmp_path: Path, capsys, kubelet: int) -> None:
    root = tmp_path / "root"
    start_records._file(f"{root}/troupelet").save([at(root)])
    assert command.main(["reset", "--yes", f"--root-dir={root}"]) == 4
    assert f"a kubelet with pid {kubelet} runs on {root}" in capsys.readouterr().err
    assert (root / "troupelet").exists()


def test_with_the_pods_kept_only_the_agents_own_files_go(tmp_path: Path, capsys) -> None:
    root = tmp_path / "root"
    (root / "pods" / "u1").mkdir(parents=True)
    run_dir = Path(run_dir_of(str(root)))
    start_records._file(f"{root}/troupelet").save([at(root, run_dir=str(run_dir))])
    assert command.main(["reset", "--yes", "--keep-pods", f"--root-dir={root}"]) == 0
    assert (root / "pods" / "u1").exists()
    assert [path.name for path in (root / "troupelet").iterdir()] == [start_records.FILE]
    capsys.readouterr()
    assert command.main(["reset", "--yes", f"--root-dir={root}"]) == 0
    assert "are another agent's" in capsys.readouterr().out
    assert (root / "pods" / "u1").exists(), "they are another agent's"
    managed = at(root, managed_root=f"{root}/troupelet/containerd", managed_state=f"{root}-c")
    start_records._file(f"{root}/troupelet").save([managed])
    assert command.main(["reset", "--yes", "--keep-pods", f"--root-dir={root}"]) == 4
    assert "own containerd" in capsys.readouterr().err


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files to another user")
def test_records_that_another_user_may_have_written_remove_nothing(tmp_path: Path, capsys) -> None:
    root, victim = tmp_path / "root", tmp_path / "victim"
    victim.mkdir()
    start_records._file(f"{root}/troupelet").save([at(root, cert_dir=str(victim), made=(str(victim),))])
    os.chown(root, 65534, 65534)
    assert command.main(["reset", "--yes", f"--root-dir={root}"]) == 4
    assert f"{root} belongs to uid 65534: another user may have written" in capsys.readouterr().err
    assert victim.is_dir()


@pytest.mark.skipif(os.geteuid() != 0, reason="removes cgroups and mounts")
def test_a_volume_goes_however_deep_a_container_has_made_it(tmp_path: Path, capsys) -> None:
    root = tmp_path / "root"
    start_records._file(f"{root}/troupelet").save([at(root)])
    make_deep(root / "pods/u1/volumes/kubernetes.io~empty-dir/v")
    assert command.main(["reset", "--yes", "--without-runtime", f"--root-dir={root}"]) == 0, capsys.readouterr().err
    assert not root.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_another_user_gets_the_advice_to_use_sudo(tmp_path: Path) -> None:
    root = tmp_path / "root"
    start_records._file(f"{root}/troupelet").save([at(root)])
    for path in (tmp_path, *tmp_path.parents[:2]):
        path.chmod(0o755)
    as_nobody = ["setpriv", "--reuid=65534", "--clear-groups", "--regid=65534"]
    command_line = [sys.executable, "-m", "actors.agent.command", "reset", f"--root-dir={root}", "--yes"]
    done = subprocess.run(
        [*as_nobody, *command_line],
        cwd=Path(__file__).parents[4],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 4, done.stderr
    assert "is another user's; try `sudo " in done.stderr
    assert f"--root-dir={root}" in done.stderr, "as it was typed"


def test_a_manifest_among_the_directories_of_pods_is_no_pod_and_stays(tmp_path: Path) -> None:
    (tmp_path / "pods" / "uid-1").mkdir(parents=True)
    (tmp_path / "pods" / "web.yaml").touch()
    scope = Scope(starts=[at(tmp_path)])
    assert scope.uids() == ["uid-1"]
    assert f"{tmp_path}/pods/web.yaml" not in [*files(scope)]
    assert f"{tmp_path}/pods/web.yaml" in remaining(scope)


def test_empty_cgroups_that_another_agent_may_share_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("actors.agent.reset.cgroups.processes.hierarchies", lambda: [str(tmp_path / "cpu")])
    (tmp_path / "cpu" / "top" / "kubepods" / "burstable").mkdir(parents=True)
    scope = Scope(starts=[at(tmp_path, cgroup_root="/top")])
    assert kept_for_others(scope) == ["/top/kubepods", "/top/kubepods/burstable"]
    assert kept_for_others(Scope(starts=scope.starts, keep_pods=True)) == []


def test_empty_cgroups_below_one_that_the_agent_has_made_go_beside_another_agent_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = tmp_path / "cpu" / "top"
    monkeypatch.setattr("actors.agent.reset.cgroups.processes.hierarchies", lambda: [str(tmp_path / "cpu")])
    (top / "kubepods" / "burstable").mkdir(parents=True)
    start = at(tmp_path / "root", cgroup_root="/top", made_cgroups=(str(top),), boot="b")
    of_another_boot = Scope(starts=[start], boot="later")
    assert kept_for_others(of_another_boot) == ["/top/kubepods", "/top/kubepods/burstable"]
    scope = Scope(starts=[start], boot="b")
    assert kept_for_others(scope) == []
    assert remove(scope, [], alone=False) == []
    assert not top.exists()


@pytest.mark.parametrize(("others", "named"), [((1,), True), ((), False)])
def test_empty_cgroups_that_stay_beside_another_agent_are_named_and_not_called_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], others: tuple[int], named: bool
) -> None:
    module = "actors.agent.reset.command"
    monkeypatch.setattr(f"{module}.kubelets", lambda: iter(others))
    monkeypatch.setattr(f"{module}.remove", lambda scope, pods, *, alone: [])
    monkeypatch.setattr(f"{module}.kept_for_others", lambda scope: ["/top/kubepods"])
    monkeypatch.setattr(f"{module}.look", lambda scope, pods: HostResources({}, []))
    context = Context(argparse.Namespace(output="text"), lambda arguments: cast(AgentFiles, None))
    assert _remove(context, Scope(starts=[at(tmp_path)]), HostResources({}, []), []) == 0
    said = capsys.readouterr().out
    assert ("cgroup /top/kubepods, " in said) == named
    assert ("nothing is left" in said) == (not named)


def test_a_cgroup_with_others_in_it_is_named_once() -> None:
    left = HostResources({}, ["cgroup /top/kubepods/other"])
    assert with_kept(left, ["/top/kubepods"]).stays == ["cgroup /top/kubepods/other"]
    assert with_kept(left, ["/b"]).stays[1:] == ["cgroup /b, empty, and maybe another node agent's too"]


@pytest.mark.parametrize(
    ("more", "removed"),
    [
        ([], ["plugins/kubernetes.io/csi/d/1/globalmount", "plugins"]),
        (["53 51 8:7 / ROOT/plugins/driver/disk rw - ext4 /dev/b rw"], ["plugins/kubernetes.io/csi/d/1/globalmount"]),
    ],
)
def test_the_bind_mount_of_plugins_goes_unless_others_have_mounts_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: list[str], removed: list[str]
) -> None:
    lines = [
        "22 1 8:1 / / rw - ext4 /dev/a rw",
        "51 22 8:1 ROOT/plugins ROOT/plugins rw shared:2 - ext4 /dev/a rw",
        "52 51 8:8 / ROOT/plugins/kubernetes.io/csi/d/1/globalmount rw - ext4 /dev/c rw",
        *more,
        "",
    ]
    table = mountinfo.parse("\n".join(lines).replace("ROOT", f"{tmp_path}/root").encode())
    monkeypatch.setattr(mountinfo, "read", lambda: table)
    scope = Scope(starts=[at(tmp_path / "root")])
    assert [one.point for one in mounts(scope)] == [f"{tmp_path}/root/{path}" for path in removed]
