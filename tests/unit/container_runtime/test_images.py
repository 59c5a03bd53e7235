"""The first images: what is in them, with a busybox of our own so that none need be installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.container_runtime.errors import MissingPrograms
from actors.container_runtime.images import BUSYBOX_IMAGE, SANDBOX_IMAGE, busybox_image, first_images, sandbox_image


@pytest.fixture
def busybox(tmp_path: Path) -> str:
    path = tmp_path / "busybox"
    path.write_text("#!/bin/sh\necho sh; echo busybox; echo ls\n")
    path.chmod(0o755)
    return str(path)


def test_busybox_is_there_under_all_its_names(busybox: str) -> None:
    entries = {entry.path: entry for entry in busybox_image(busybox).entries}
    assert entries["bin/busybox"].data == Path(busybox).read_bytes()
    assert {path for path, entry in entries.items() if entry.target == "busybox"} == {"bin/sh", "bin/ls"}
    assert entries["tmp"].mode == 0o1777


def test_directories_come_before_what_is_in_them(busybox: str) -> None:
    seen = set()
    for entry in busybox_image(busybox).entries:
        parent = entry.path.rpartition("/")[0]
        assert not parent or parent in seen
        seen.add(entry.path)


def test_the_sandbox_runs_without_rights_and_without_busybox_where_it_can() -> None:
    image = sandbox_image("x86_64", "/does/not/exist")
    assert image.config["Entrypoint"] == ["/pause"]
    assert image.config["User"] == "65535:65535"


def test_the_sandbox_is_busybox_on_other_machines(busybox: str) -> None:
    image = sandbox_image("aarch64", busybox)
    assert image.config["Entrypoint"][0] == "/bin/busybox"
    assert "TERM" in image.config["Entrypoint"][-1]


def test_both_images_are_in_one_layout(busybox: str) -> None:
    assert [built.reference for built in first_images("x86_64", busybox).images] == [SANDBOX_IMAGE, BUSYBOX_IMAGE]


def test_an_error_without_busybox_names_the_package_to_install() -> None:
    with pytest.raises(MissingPrograms, match=r"/no/busybox.*apt-get install busybox-static"):
        first_images("x86_64", "/no/busybox")
