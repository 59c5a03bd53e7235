"""Files are written by rename, and only when they change; the spec that the tree gets."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from actors.container_runtime.containerd_config import render
from actors.container_runtime.errors import NotRoot
from actors.container_runtime.host import RuntimeHost
from actors.container_runtime.host_setup import prepare, put, restore
from actors.container_runtime.instance import ManagedRuntime
from actors.container_runtime.network import subnets_of
from actors.container_runtime.program import child_spec

HOST = RuntimeHost(containerd="/opt/new/bin/containerd", runc="r", ctr="t", plugin_dir="p")


def test_a_file_is_written_only_when_it_changes(tmp_path: Path) -> None:
    path = str(tmp_path / "file")
    assert put(path, "one")
    before = os.stat(path)
    assert not put(path, "one")
    assert os.stat(path).st_ino == before.st_ino
    assert put(path, "two")
    assert Path(path).read_text() == "two"
    assert os.listdir(tmp_path) == ["file"]


def test_a_watched_directory_never_holds_a_half_written_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = tmp_path / "net.d"
    watched.mkdir()
    seen: list[list[str]] = []
    monkeypatch.setattr(os, "fsync", lambda _: seen.append(os.listdir(watched)))
    put(str(watched / "10-x.conflist"), "{}", via=str(tmp_path))
    assert seen == [[], ["10-x.conflist"]]  # the second is that of the directory
    assert os.listdir(watched) == ["10-x.conflist"]


def test_a_run_without_root_names_the_alternatives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(NotRoot, match=r"run this as root, or .*--container-runtime-endpoint"):
        prepare(ManagedRuntime(root="/a", state="/b"), HOST)


@pytest.mark.skipif(os.geteuid() != 0, reason="prepare is for root")
def test_a_removed_network_configuration_comes_back_with_the_network_of_its_bridge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("actors.container_runtime.host_setup._set", lambda path, value: None)
    instance = ManagedRuntime(root=str(tmp_path / "root"), state=str(tmp_path / "state"))
    routed = replace(HOST, networks=(("eth0", "10.0.0.0/8"), (instance.network, "10.73.232.0/22")))
    for damage in (Path.unlink, lambda file: file.write_text("{")):
        prepare(instance, routed)
        file = Path(instance.network_file)
        assert subnets_of(file.read_bytes()) == ["10.73.232.0/22"]
        damage(file)


def test_the_tree_gets_a_program_that_finds_its_shim_and_is_ready_with_its_socket() -> None:
    spec = child_spec(ManagedRuntime(root="/a", state="/b"), HOST)
    assert spec.name == "container_runtime"
    assert spec.program == ("/opt/new/bin/containerd", "--config", "/a/config.toml")
    assert spec.environment["PATH"].split(":")[0] == "/opt/new/bin"
    assert spec.ready_socket == "/b/containerd.sock"
    assert spec.log_file == "/a/containerd.log"


@pytest.mark.parametrize("cluster", [False, True])
def test_the_program_gets_the_configuration_of_its_start_again_before_each_start(cluster: bool) -> None:
    instance = ManagedRuntime(root="/a", state="/b")
    spec = child_spec(instance, HOST, cluster=cluster)
    assert spec.files == {"/a/config.toml": render(instance, HOST, cluster=cluster)}


@pytest.mark.skipif(os.geteuid() != 0, reason="prepare is for root")
@pytest.mark.parametrize("gone", ["file", "directory", "nothing"])
def test_the_network_of_a_running_containerd_is_made_again_where_it_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gone: str
) -> None:
    monkeypatch.setattr("actors.container_runtime.host_setup._set", lambda path, value: None)
    monkeypatch.setattr("actors.container_runtime.host_setup.look", lambda root: HOST)
    instance = ManagedRuntime(root=str(tmp_path / "root"), state=str(tmp_path / "state"))
    prepare(instance, HOST)
    file = Path(instance.network_file)
    before = file.read_bytes()
    if gone != "nothing":
        file.unlink()
    if gone == "directory":
        file.parent.rmdir()
    assert restore(str(tmp_path), instance.root, instance.state, False, "") is (gone != "nothing")
    assert file.read_bytes() == before


@pytest.mark.skipif(os.geteuid() != 0, reason="prepare is for root")
def test_directories_in_the_place_of_containerds_files_and_sockets_are_set_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("actors.container_runtime.host_setup._set", lambda path, value: None)
    monkeypatch.setattr("actors.container_runtime.host_setup.look", lambda root: HOST)
    instance = ManagedRuntime(root=str(tmp_path / "root"), state=str(tmp_path / "state"))
    for path in (instance.config_file, instance.socket):
        Path(path, "inside").mkdir(parents=True)
    prepare(instance, HOST)
    assert Path(instance.config_file).is_file()
    assert not os.path.lexists(instance.socket)
    assert Path(f"{instance.socket}.damaged", "inside").is_dir(), "nothing of it is lost"
    Path(instance.socket, "inside").mkdir(parents=True)
    restore(str(tmp_path), instance.root, instance.state, False, "")
    assert not os.path.lexists(instance.socket), "also while the agent runs"


@pytest.mark.skipif(os.geteuid() != 0, reason="prepare is for root")
def test_in_a_cluster_the_template_is_made_again_and_the_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("actors.container_runtime.host_setup._set", lambda path, value: None)
    monkeypatch.setattr("actors.container_runtime.host_setup.look", lambda root: HOST)
    instance = ManagedRuntime(root=str(tmp_path / "root"), state=str(tmp_path / "state"))
    prepare(instance, HOST, cluster=True)
    arguments = (str(tmp_path), instance.root, instance.state, True, "")
    assert restore(*arguments) is False
    Path(instance.network_template).unlink()
    assert restore(*arguments) is True
    Path(instance.network_dir).rmdir()
    assert restore(*arguments) is True
    assert Path(instance.network_dir).is_dir()
    assert not Path(instance.network_file).exists()
