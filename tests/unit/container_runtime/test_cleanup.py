from __future__ import annotations

from pathlib import Path

from actors.container_runtime import cleanup, processes
from actors.container_runtime.instance import ManagedRuntime
from tests.support.deep_directory import make_deep


def test_what_containers_wrote_goes_with_the_runtime_however_deep_it_is(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(processes, "end_containerd", lambda instance: None)
    monkeypatch.setattr(cleanup, "remove_pods", lambda instance, cgroups: [])
    make_deep(tmp_path / "root/snapshots/1/fs")
    assert cleanup.purge(ManagedRuntime(root=f"{tmp_path}/root", state=f"{tmp_path}/state")) == []
    assert not (tmp_path / "root").exists()
