"""The files of a volume are given to the pod's fsGroup."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from actors.shared.linux.removal import remove_tree
from actors.volume_manager.host import ownership
from actors.volume_manager.host.ownership import apply_group
from tests.support.deep_directory import make_deep

GROUP = os.getgid()


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    top = tmp_path / "v"
    for path in ("a/b/c", "a.b", "b"):
        (top / path).mkdir(parents=True)
    for path in ("a/b/c/1", "a/b/2", "a.b/3", "b/4", "0", "z"):
        (top / path).write_text("")
        (top / path).chmod(0o600)
    return top


def modes(volume: Path) -> set[int]:
    return {path.lstat().st_mode & 0o777 for path in volume.rglob("*") if path.is_file() and not path.is_symlink()}


def test_a_volume_with_the_right_top_directory_is_skipped_under_on_root_mismatch(volume: Path) -> None:
    (volume / "a/link").symlink_to("/etc/passwd")
    before = os.stat("/etc/passwd")
    apply_group(str(volume), GROUP, on_root_mismatch=True)
    assert (volume / "a").stat().st_mode & 0o2770 == 0o2770
    assert modes(volume) == {0o660}
    assert os.stat("/etc/passwd") == before
    (volume / "late").touch(0o600)
    assert apply_group(str(volume), GROUP, on_root_mismatch=True)["files"] == 0
    assert (volume / "late").stat().st_mode & 0o777 == 0o600
    apply_group(str(volume), GROUP, on_root_mismatch=False)
    assert (volume / "late").stat().st_mode & 0o777 == 0o660


def test_a_link_in_the_place_of_the_volume_is_not_followed(volume: Path) -> None:
    """A CSI driver that may write below the pods' directory would give the files of the host to its pod."""
    link = volume.parent / "mount"
    link.symlink_to(volume)
    before = volume.stat().st_mode
    assert apply_group(str(link), GROUP, on_root_mismatch=False)["after"] == b""
    assert modes(volume) == {0o600}
    assert volume.stat().st_mode == before


def test_slices_change_every_file_once_and_the_top_last(volume: Path) -> None:
    after, seen, files = b"", [], 0
    while True:
        done = apply_group(str(volume), GROUP, on_root_mismatch=True, after=after, seconds=0.0)
        files += done["files"]
        if not done["after"]:
            break
        assert volume.stat().st_mode & 0o2000 == 0, "an agent that ends here must not take the volume for done"
        seen.append(os.fsdecode(after := done["after"]))
    paths = [str(path.relative_to(volume)) for path in volume.rglob("*")]
    assert sorted(seen) == sorted(paths)
    assert files == len(paths) + 1
    assert modes(volume) == {0o660}
    assert volume.stat().st_mode & 0o2770 == 0o2770


def test_slices_go_on_after_names_that_are_not_utf8(volume: Path) -> None:
    """What a disposable process returns, and gets again, is msgpack."""
    for name in (b"b/\xff", b"c\xfe\n", b"d"):
        open(os.fsencode(volume) + b"/" + name, "w").close()
    after, seen = b"", []
    while True:
        done = msgspec.msgpack.decode(
            msgspec.msgpack.encode(apply_group(str(volume), GROUP, True, after=after, seconds=0.0))
        )
        if not done["after"]:
            break
        seen.append(after := done["after"])
    assert {b"b/\xff", b"c\xfe\n", b"d"} < set(seen)
    assert len(seen) == len(set(seen))


def test_a_directory_that_is_nested_too_deeply_is_an_error(tmp_path: Path) -> None:
    """A container nested it in the volume of a claim. The path of each level would be kept: gigabytes of memory."""
    make_deep(tmp_path / "v/deep")
    try:
        with pytest.raises(OSError, match=r"File name too long: '.*d/d/d") as found:
            apply_group(f"{tmp_path}/v", GROUP, on_root_mismatch=False)
    finally:
        remove_tree(str(tmp_path / "v"))  # pytest cannot
    assert len(str(found.value)) < 500


def test_a_file_that_cannot_be_changed_is_counted_and_skipped(volume: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change = ownership._change

    def refuse(name: str, directory: int, group: int) -> None:
        if name in ("1", "2", "3", "4"):
            raise PermissionError(1, "Operation not permitted")
        change(name, directory, group)

    monkeypatch.setattr(ownership, "_change", refuse)
    done = apply_group(str(volume), GROUP, on_root_mismatch=False)
    assert (done["after"], done["failed"], len(done["errors"])) == (b"", 4, 3)
    assert done["errors"][0] == "a/b/2: Operation not permitted"
    assert (volume / "z").stat().st_mode & 0o777 == 0o660


def test_a_directory_that_cannot_be_listed_is_an_error(volume: Path) -> None:
    with pytest.raises(FileNotFoundError):
        apply_group(f"{volume}/none", GROUP, on_root_mismatch=False)


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: only root gives files to a group that it is not in")
def test_every_file_and_the_top_directory_get_the_group(volume: Path) -> None:
    apply_group(str(volume), GROUP + 1, on_root_mismatch=True)
    assert {path.lstat().st_gid for path in (volume, *volume.rglob("*"))} == {GROUP + 1}
