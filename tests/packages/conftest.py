"""The packages, built once for all tests of a session: minutes, root and the distribution's mirror are needed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.built import SOURCES, make
from tests.support.runtime import real_runtime, session_runtime

__all__ = ["real_runtime", "session_runtime"]

BUILT = "TROUPELET_TEST_PACKAGES"
"""Environment variable: a directory with what `make image` has built before, to be tested instead."""
BUILD_SECONDS = 1700.0


def needs(*programs: str) -> None:
    if missing := [name for name in programs if not shutil.which(name)]:
        pytest.skip(f"NOT TESTED: there is no {', no '.join(missing)}")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of wheel, Debian package and image."""
    if given := os.environ.get(BUILT, ""):
        return Path(given)
    if os.geteuid() != 0:
        pytest.skip("NOT TESTED: an image is built by root")
    needs("debootstrap", "dpkg-shlibdeps", "strip")
    directory = tmp_path_factory.mktemp("dist")
    make("image", f"DIST={directory}", seconds=BUILD_SECONDS)
    return directory


@pytest.fixture(scope="session")
def package(built: Path) -> Path:
    (found,) = built.glob("troupelet_*.deb")
    return found


@pytest.fixture(scope="session")
def image(built: Path) -> Path:
    (found,) = built.glob("troupelet-*.oci.tar")
    return found


def run(*command: str | os.PathLike[str], seconds: float = 300.0) -> subprocess.CompletedProcess[str]:
    """It may fail."""
    return subprocess.run(command, cwd=SOURCES, capture_output=True, text=True, timeout=seconds, check=False)
