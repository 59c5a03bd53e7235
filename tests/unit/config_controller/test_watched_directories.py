"""Files are replaced and directories removed while the controller looks for what to watch."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from actors.config_controller.watched_directories import directories_of

LOOKS = 2000


@contextmanager
def repeated(change: Callable[[], None]) -> Iterator[None]:
    """`change` again and again, in a thread of its own."""
    end = threading.Event()

    def repeat() -> None:
        while not end.is_set():
            change()

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def test_the_directories_of_a_file_of_its_links_and_of_a_tree_are_watched(tmp_path: Path) -> None:
    (tmp_path / "tree/a/b").mkdir(parents=True)
    (tmp_path / "real").mkdir()
    (tmp_path / "linked").symlink_to("real")
    assert directories_of([f"{tmp_path}/linked/config.yaml", ""], [f"{tmp_path}/tree", ""]) == sorted(
        [
            str(tmp_path),
            f"{tmp_path}/linked",
            f"{tmp_path}/real",
            f"{tmp_path}/tree",
            f"{tmp_path}/tree/a",
            f"{tmp_path}/tree/a/b",
        ]
    )


def test_a_directory_that_is_removed_while_a_tree_is_read_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()

    def change() -> None:
        os.makedirs(f"{tmp_path}/short/lived")
        os.removedirs(f"{tmp_path}/short/lived")

    with repeated(change):
        for _ in range(LOOKS):
            assert f"{tmp_path}/kept" in directories_of([], [str(tmp_path)])


def test_a_link_that_is_replaced_by_a_file_while_it_is_followed_is_passed_over(tmp_path: Path) -> None:
    link = tmp_path / "config.yaml"

    def change() -> None:
        link.symlink_to("..data")
        link.unlink()
        link.touch()
        link.unlink()

    with repeated(change):
        for _ in range(LOOKS):
            assert str(tmp_path) in directories_of([str(link)], [])
