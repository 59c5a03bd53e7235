"""The Debian package by Debian's own tools: lintian, and dpkg in a small Debian, which is the image's file system."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from tests.packages.conftest import needs, run

pytestmark = [pytest.mark.packages, pytest.mark.timeout(1800)]
LINKS = ("multi-user.target.wants/troupelet.service", "kubelet.service")
"""What `systemctl enable` makes in /etc/systemd/system."""


def member(tar: tarfile.TarFile, name: str) -> IO[bytes]:
    found = tar.extractfile(name)
    assert found is not None
    return found


def blob(descriptor: dict[str, str]) -> str:
    """Its name in a layout."""
    return f"blobs/{descriptor['digest'].replace(':', '/')}"


@pytest.fixture(scope="module")
def debian(image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A root directory, with the package installed."""
    root = tmp_path_factory.mktemp("debian")
    root.chmod(0o755)
    with tarfile.open(image) as layout:
        (entry,) = json.load(member(layout, "index.json"))["manifests"]
        (described,) = json.load(member(layout, blob(entry)))["layers"]
        with tarfile.open(fileobj=member(layout, blob(described))) as files:
            files.extractall(root, filter="fully_trusted")
    yield root
    subprocess.run(["rm", "-rf", "--one-file-system", root], check=True, timeout=120)


def within(debian: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run("chroot", debian, *words)


def listing(debian: Path) -> set[str]:
    """Every file, but dpkg's own notes, and what a redirection makes in a /dev without devices."""
    found = (str(path.relative_to(debian)) for path in debian.rglob("*"))
    return {name for name in found if not name.startswith(("dev/", "var/lib/dpkg/", "var/log/", "var/cache/"))}


def of_the_package(names: set[str]) -> set[str]:
    return {name for name in names if any(word in name for word in ("troupelet", "supervise", "kubelet"))}


def test_lintian_finds_nothing(package: Path) -> None:
    needs("lintian")
    done = run("lintian", "--allow-root", "--fail-on", "error,warning", package, seconds=900)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_commands_of_the_package_start_on_the_installed_system(debian: Path) -> None:
    assert within(debian, "supervise", "--version").stdout.startswith("troupelet ")
    assert within(debian, "kubelet", "--version").stdout.startswith("Kubernetes v1.36.")
    checked = within(debian, "supervise", "config", "check", "--config=/etc/troupelet/config.yaml")
    assert "valid" in checked.stdout, checked.stdout + checked.stderr
    status = within(debian, "supervise", "status")
    assert status.returncode == 3
    assert "no agent is running" in status.stdout + status.stderr


def test_the_package_has_no_tests_of_its_libraries(package: Path) -> None:
    listed = run("dpkg-deb", "--contents", package).stdout
    assert "/site-packages/thespian/" in listed
    assert not re.findall(r"\S*(?:/_?tests?/|/testdata/|_test\.py|/conftest\.py).*", listed)


def test_all_files_are_the_packages_and_unchanged(debian: Path) -> None:
    verified = within(debian, "dpkg", "--verify", "troupelet")
    assert (verified.returncode, verified.stdout) == (0, "")


def test_a_removal_leaves_the_configuration_and_a_purge_nothing(debian: Path, package: Path) -> None:
    installed = listing(debian)
    assert of_the_package(installed)
    units = debian / "etc/systemd/system"
    for name in LINKS:
        units.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
        units.joinpath(name).symlink_to("/lib/systemd/system/troupelet.service")
    within(debian, "supervise", "--help")
    removed = within(debian, "dpkg", "--remove", "troupelet")
    assert removed.returncode == 0, removed.stderr
    assert [name for name in LINKS if os.path.lexists(units / name)] == []
    left = of_the_package(listing(debian))
    assert {name for name in left if not name.startswith("var/lib/systemd/")} == {
        "etc/troupelet", "etc/troupelet/config.yaml",
    }  # fmt: skip
    assert within(debian, "dpkg", "--purge", "troupelet").returncode == 0
    without = listing(debian)
    assert of_the_package(without) == set()
    notes = (debian / "var/lib/dpkg").rglob("*troupelet*")
    assert list(notes) == []

    debian.joinpath("again.deb").write_bytes(package.read_bytes())
    again = within(debian, "dpkg", "--install", "/again.deb")
    debian.joinpath("again.deb").unlink()
    assert again.returncode == 0, again.stderr
    assert listing(debian) == installed
    assert within(debian, "dpkg", "--purge", "troupelet").returncode == 0
    assert listing(debian) == without
