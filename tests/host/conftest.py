"""One guest, built, booted and made a node once for all tests of a session: a quarter of an hour on two cores."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from actors.container_runtime import images, oci
from tests.host.guest.machine import Machine
from tests.host.site import Site, serving
from tests.support.built import make

KEPT = "TROUPELET_TEST_GUEST"
"""Environment variable: a directory for the guest's root file system without the project, which is made once."""
BUILD = Path(__file__).parent / "guest" / "build.sh"
BUILD_SECONDS = 3000.0


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """Booted, with the project in it; nothing of the project runs."""
    if os.geteuid() != 0:
        pytest.skip("NOT TESTED: a guest is built by root")
    if missing := [each for each in ("qemu-system-x86_64", "debootstrap", "debugfs") if not shutil.which(each)]:
        pytest.skip(f"NOT TESTED: there is no {', no '.join(missing)}")
    kept = Path(os.environ.get(KEPT, "") or Path(tempfile.gettempdir(), "troupelet-guest"))
    folder = tmp_path_factory.mktemp("guest")
    made = folder / "images.tar"
    oci.write(made, images.first_images("x86_64"))
    make("wheel", f"DIST={folder}", seconds=BUILD_SECONDS)
    (wheel,) = folder.glob("*.whl")
    started_at = time.monotonic()
    subprocess.run(["nice", BUILD, wheel, made, kept, folder], check=True, timeout=BUILD_SECONDS)
    found = Machine(folder)
    try:
        built = time.monotonic()
        booted = found.boot()
        print(f"\nguest: built in {built - started_at:.0f} s, booted in {booted:.0f} s")
        yield found
    finally:
        found.kill()
        for disk in ("disk.img", "swap.img"):
            (folder / disk).unlink(missing_ok=True)


@pytest.fixture(scope="session")
def whole_site(machine: Machine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with serving(machine, tmp_path_factory.mktemp("api")) as found:
        yield found


@pytest.fixture
def site(whole_site: Site) -> Iterator[Site]:
    """A node that is Ready, without pods."""
    yield whole_site
    whole_site.clear()
