"""Log directories of pods that nobody knows any more."""

from __future__ import annotations

import os
import time
from pathlib import Path

from actors.pod_workers.logs import orphans as module
from actors.pod_workers.logs.orphans import MIN_AGE_SECONDS, SweptShard, orphans, owns_log_directory, sweep
from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration

WORKER = "pod_workers/worker/0"


def swept(tmp_path: Path, *known: str) -> list[str]:
    """The directories that a sweep removes now. `known`: UIDs of pods."""
    logs, links = str(tmp_path / "pods"), str(tmp_path / "links")
    return sweep(logs=logs, links=links, known=[*known], shard=WORKER, workers=1, now=time.time())


def directory(tmp_path: Path, name: str, age: float = 2 * MIN_AGE_SECONDS) -> Path:
    folder = tmp_path / "pods" / name / "c"
    folder.mkdir(parents=True)
    (folder / "0.log").write_text("x")
    old = time.time() - age
    os.utime(folder.parent, (old, old))
    return folder.parent


def test_only_old_directories_of_unknown_pods_are_removed_with_their_links(tmp_path):
    gone, known = directory(tmp_path, "d_gone_u1"), directory(tmp_path, "d_known_u2")
    young, odd = directory(tmp_path, "d_young_u3", age=1), directory(tmp_path, "lost+found")
    links = tmp_path / "links"
    links.mkdir()
    (links / "gone_d_c-1.log").symlink_to(gone / "c" / "0.log")
    assert swept(tmp_path, "u2") == [str(gone)]
    assert [path.exists() for path in (gone, known, young, odd)] == [False, True, True, True]
    assert os.listdir(links) == []


def test_a_directory_whose_name_is_not_utf8_is_removed_as_others(tmp_path):
    made = [directory(tmp_path, os.fsdecode(name)) for name in (b"d_x\xff_u1", b"d_y_\xff")]
    assert set(swept(tmp_path)) == set(map(str, made))


def test_a_directory_that_another_process_removes_does_not_stop_the_removal_of_others(tmp_path, monkeypatch):
    gone, listed = directory(tmp_path, "d_gone_u1"), os.listdir
    monkeypatch.setattr(os, "listdir", lambda path: (["d_away_u9"] if path == str(gone.parent) else []) + listed(path))
    assert swept(tmp_path) == [str(gone)]


def test_old_links_to_removed_logs_of_unknown_pods_are_removed(tmp_path):
    here = directory(tmp_path, "d_here_u2") / "c" / "0.log"
    links = tmp_path / "links"
    links.mkdir()
    targets = {
        "dead": tmp_path / "pods" / "d_gone_u1" / "c" / "0.log",
        "rotated": tmp_path / "pods" / "d_here_u2" / "c" / "1.log",
        "alive": here,
        "foreign": tmp_path / "elsewhere" / "d_gone_u1" / "c" / "0.log",
        "young": tmp_path / "pods" / "d_gone_u1" / "c" / "1.log",
    }
    for name, target in targets.items():
        (links / name).symlink_to(target)
        if name != "young":
            old = time.time() - 2 * MIN_AGE_SECONDS
            os.utime(links / name, (old, old), follow_symlinks=False)
    (links / "file").touch()
    assert swept(tmp_path, "u2") == []
    assert sorted(os.listdir(links)) == ["alive", "file", "foreign", "rotated", "young"]


def test_each_worker_looks_at_its_own_pods():
    names = [f"d_p_{number}" for number in range(20)]
    parts = [set(orphans(names, SweptShard(frozenset(), f"pod_workers/worker/{number}", 3))) for number in range(3)]
    assert len(set.union(*parts)) == sum(map(len, parts)) == 20


def test_a_possibly_shared_log_directory_stays():
    assert owns_log_directory(Agent())
    assert not owns_log_directory(Agent(root_dir="/srv/other"))
    assert owns_log_directory(Agent(root_dir="/srv/other", config=KubeletConfiguration(podLogsDir="/srv/logs")))


def test_one_sweep_removes_a_bounded_number(tmp_path, monkeypatch):
    made = [str(directory(tmp_path, f"d_gone_u{number}")) for number in range(5)]
    monkeypatch.setattr(module, "MOST_REMOVED", 3)
    first, second = swept(tmp_path), swept(tmp_path)
    assert (len(first), len(second), sorted(first + second)) == (3, 2, made)
