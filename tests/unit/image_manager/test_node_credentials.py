"""Credentials in files of the node."""

from __future__ import annotations

import json
from pathlib import Path

from actors.image_manager.node_credentials import KEPT_SECONDS, NodeCredentials, places


def test_the_places_are_those_of_the_kubelet_in_its_order():
    assert places("/var/lib/kubelet", {"HOME": "/root"}, "/work") == [
        "/var/lib/kubelet/config.json", "/work/config.json", "/root/.docker/config.json", "/.docker/config.json",
        "/var/lib/kubelet/.dockercfg", "/work/.dockercfg", "/root/.dockercfg", "/.dockercfg",
    ]  # fmt: skip
    assert places("/r", {}, "/") == ["/r/config.json", "/config.json", "/.docker/config.json", "/r/.dockercfg",
                                     "/.dockercfg"]  # fmt: skip


def write(path: Path, name: str, **more: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"auths": {"r.io": {"username": name, "password": "p"}}, **more}))


def users(found: NodeCredentials) -> list[str]:
    return [one.username for one in found.keyring().matching("r.io/x")]


def test_the_first_file_that_has_any_counts_and_is_read_again_when_it_is_old(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    now = [0.0]
    found = NodeCredentials(str(tmp_path / "root"), lambda: now[0])
    assert users(found) == []
    write(tmp_path / "home/.docker/config.json", "home")
    assert users(found) == []
    now[0] += KEPT_SECONDS
    assert users(found) == ["home"]
    (tmp_path / "root").mkdir()
    (tmp_path / "root/config.json").write_text("no json")
    (tmp_path / "root/.dockercfg").write_text(json.dumps({"r.io": {"auth": "b2xkOnA="}}))
    now[0] += KEPT_SECONDS
    assert users(found) == ["home"], "a broken file hides none, and the new form comes before the old one"
    (tmp_path / "home/.docker/config.json").unlink()
    now[0] += KEPT_SECONDS
    assert users(found) == ["old"]
