"""`make deb`: the package has what an operator needs, and the agent runs from what it unpacks."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.agent_command import HARMLESS, SOURCES, AgentCommand
from tests.support.built import make
from tests.support.tcp_ports import free_port

pytestmark = [
    pytest.mark.tree,
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="NOT TESTED: there is no dpkg-deb"),
]
BUILT = "TROUPELET_TEST_DEB"
"""Environment variable: a package that was built before, to be tested instead of a new one."""


UNCOMPRESSED = {"DPKG_DEB_COMPRESSOR_TYPE": "none"}
"""What is in the package does not depend on its compression, which takes time."""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if given := os.environ.get(BUILT, ""):
        return Path(given)
    directory = tmp_path_factory.mktemp("dist")
    return Path(make("deb", f"DIST={directory}", seconds=1700, environment=UNCOMPRESSED).splitlines()[-1])


@pytest.fixture(scope="module")
def unpacked(package: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="deb-") as directory:
        subprocess.run(["dpkg-deb", "-R", package, directory], check=True, timeout=120)
        Path(directory, "usr/bin/python3").symlink_to("/usr/bin/python3")  # the distribution's, which the package uses
        yield Path(directory)


def field(package: Path, name: str) -> str:
    shown = subprocess.run(["dpkg-deb", "-f", package, name], capture_output=True, text=True, timeout=60, check=True)
    return shown.stdout.strip()


def test_the_package_declares_itself_and_its_dependencies(package: Path) -> None:
    assert field(package, "Package") == "troupelet"
    assert field(package, "Conflicts") == "kubelet"
    assert field(package, "Depends").startswith("python3 (>= 3.")
    assert "@" not in field(package, "Version") + field(package, "Depends") + field(package, "Installed-Size")


def test_unit_configuration_commands_and_manual_pages_are_where_debian_has_them(unpacked: Path) -> None:
    assert unpacked.joinpath("DEBIAN/conffiles").read_text() == "/etc/troupelet/config.yaml\n"
    assert unpacked.joinpath("etc/troupelet/config.yaml").is_file()
    systemd = unpacked / "usr/lib/systemd"
    unit = systemd.joinpath("system/troupelet.service").read_text()
    assert "ExecStart=/usr/lib/troupelet/bin/supervise start --config=/etc/troupelet/config.yaml" in unit
    drop_ins = list(systemd.rglob("*.d/*.conf"))
    assert drop_ins == [], "kubeadm's would be in force on a node without kubeadm, as the unit is called kubelet too"
    for name in ("supervise", "kubelet"):
        assert os.readlink(unpacked / "usr/bin" / name) == f"../lib/troupelet/bin/{name}"
        assert os.access(unpacked / "usr/bin" / name, os.X_OK)
    pages = {path.name for path in unpacked.joinpath("usr/share/man/man8").iterdir()}
    assert {"supervise.8.gz", "supervise-start.8.gz", "supervise-reset.8.gz", "kubelet.8.gz"} <= pages
    for place in ("bash-completion/completions/supervise", "zsh/vendor-completions/_supervise"):
        assert unpacked.joinpath("usr/share", place).is_file()


def test_no_file_is_newer_than_the_sources_or_names_where_it_was_built(package: Path, unpacked: Path) -> None:
    asked = ["git", "log", "-1", "--format=%ct"]
    shown = subprocess.run(asked, cwd=SOURCES, capture_output=True, text=True, timeout=60, check=False).stdout.strip()
    listed = subprocess.run(
        ["dpkg-deb", "--fsys-tarfile", package], capture_output=True, timeout=120, check=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(listed)) as tar:
        times = {member.mtime for member in tar}
    if BUILT not in os.environ:
        assert times == {int(os.environ.get("SOURCE_DATE_EPOCH", "") or shown or 1577836800)}
    assert len(times) == 1
    place = unpacked / "usr/lib/troupelet"
    texts = [*place.glob("bin/*"), place / "pyvenv.cfg", *place.glob("lib/python3*/site-packages/*.dist-info/*")]
    named = [path for path in texts if path.is_file() and str(SOURCES).encode() in path.read_bytes()]
    assert named == []


def test_scripts_of_the_package_are_valid_and_checksums_right(unpacked: Path) -> None:
    for name in ("postinst", "prerm", "postrm"):
        script = unpacked / "DEBIAN" / name
        assert os.access(script, os.X_OK)
        subprocess.run(["sh", "-n", script], check=True, timeout=30)
    command = ["md5sum", "--check", "--quiet", "DEBIAN/md5sums"]
    done = subprocess.run(command, cwd=unpacked, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == ""


def test_the_agent_runs_from_what_is_unpacked(unpacked: Path) -> None:
    python = unpacked / "usr/lib/troupelet/bin/python"
    with tempfile.TemporaryDirectory(prefix="agent-") as directory:
        root = Path(directory, "root")
        flags = [
            *HARMLESS, f"--root-dir={root}", f"--healthz-port={free_port()}", f"--port={free_port()}",
            f"--container-runtime-endpoint=unix://{directory}/none.sock",
        ]  # fmt: skip
        environment = dict.fromkeys(("PYTHONPATH", "VIRTUAL_ENV"), "")
        command = [str(python), "-m", "actors.agent.command", "start", *flags]
        with AgentCommand(command, root, environment, cwd=Path("/")) as agent:
            agent.wait_ready()
            assert str(SOURCES) not in Path(f"/proc/{agent.process.pid}/maps").read_text()
            assert agent.stop() == 0
