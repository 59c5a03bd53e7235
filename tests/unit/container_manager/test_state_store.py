"""A value whose file outlives the process."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.container_manager.state_store import StateStore
from actors.shared.state_files import CopiedFile, StateFiles


class Disk:
    """A file below a root directory, on a disk that may be full."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.file = StateFiles(str(home), str(home / "run")).file("state")
        self.full, write = False, self.file.write

        def bounded(content: bytes) -> None:
            if self.full:
                raise OSError(28, "No space left on device")
            write(content)

        monkeypatch.setattr(self.file, "write", bounded)

    def store(self, value: str) -> StateStore[str]:
        file: CopiedFile = self.file
        return StateStore(file, value, str.encode)

    def content(self) -> str:
        return self.file.path.read_text()


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(tmp_path, monkeypatch)


def test_what_is_kept_is_in_the_file(disk: Disk) -> None:
    store = disk.store("a")
    assert (store.value, disk.content()) == ("a", "a")
    store.keep("b")
    assert (store.value, disk.content()) == ("b", "b")
    store.free("")
    assert (store.value, disk.content()) == ("", "")
    assert (disk.store("c").value, disk.content()) == ("c", "c")


def test_nothing_is_allocated_that_cannot_be_written_and_what_is_free_is_free(disk: Disk) -> None:
    store = disk.store("a")
    disk.full = True
    with pytest.raises(OSError, match="No space left"):
        store.keep("ab")
    assert (store.value, disk.content()) == ("a", "a")
    store.free("")
    assert (store.value, disk.content()) == ("", "a")


def test_a_start_on_a_full_disk_needs_no_write_where_the_file_has_the_value(disk: Disk) -> None:
    disk.store("a")
    disk.full = True
    assert disk.store("a").value == "a"
    with pytest.raises(OSError, match="No space left"):
        disk.store("b")
