"""`make install`: what is built from these sources runs from a place of its own, without them."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.agent_command import HARMLESS, SOURCES, AgentCommand
from tests.support.built import make
from tests.support.tcp_ports import free_port

pytestmark = [pytest.mark.tree, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def prefix() -> Iterator[Path]:
    """As a package is built: staged below DESTDIR, then moved to where it says that it is."""
    with tempfile.TemporaryDirectory(prefix="inst-") as directory:
        stage, place = Path(directory, "stage"), Path(directory, "opt")
        said = make("install", f"DESTDIR={stage}", f"PREFIX={place}", f"DIST={directory}/dist", seconds=800)
        assert f"installed: {stage}{place}/bin/supervise" in said
        Path(f"{stage}{place}").rename(place)
        yield place


def run(prefix: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """From another directory, with nothing of these sources in the environment."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/"}
    return subprocess.run(
        [prefix / "bin" / words[0], *words[1:]],
        cwd="/", env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def uninstall(prefix: Path) -> subprocess.CompletedProcess[str]:
    command = ["make", "uninstall", f"PREFIX={prefix}"]
    return subprocess.run(command, cwd=SOURCES, capture_output=True, text=True, timeout=60, check=False)


def test_no_installed_file_names_the_staging_directory(prefix: Path) -> None:
    files = [path for path in (prefix / "bin").iterdir() if path.is_file() and not path.is_symlink()]
    assert {"supervise", "kubelet"} <= {path.name for path in files}
    mentioning = [path.name for path in [*files, prefix / "pyvenv.cfg"] if b"/stage" in path.read_bytes()]
    assert mentioning == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("kubelet --version", r"^Kubernetes v1\.36\.\d+\+troupelet\.[0-9.]+\n$"),
        ("kubelet --help", "--bootstrap-kubeconfig"),
        ("supervise --help", "run-once"),
        ("supervise policy check {prefix}/share/troupelet/etc/supervision.yaml", "."),
        ("supervise config check --config={prefix}/share/troupelet/etc/kubelet-config.yaml", "valid"),
        ("supervise config explain evictionHard", "memory.available"),
    ],
)
def test_installed_commands_run_without_the_sources(words: str, said: str, prefix: Path) -> None:
    done = run(prefix, *words.format(prefix=prefix).split())
    assert done.returncode == 0, done.stderr
    assert re.search(said, done.stdout)


def test_an_installation_has_no_fakes(prefix: Path) -> None:
    (installed,) = prefix.glob("lib/python*/site-packages")
    assert (installed / "supervision" / "actor.py").is_file()
    ours = [path for top in ("supervision", "actors", "proto") for path in (installed / top).rglob("*.py")]
    assert [str(path) for path in ours if "fake" in path.name or "testing" in path.parts] == []


def test_an_installation_has_the_files_for_operators(prefix: Path) -> None:
    etc = prefix / "share/troupelet/etc"
    for name in (
        "systemd/kubelet.service.d/10-kubeadm.conf", "supervision.yaml", "kubelet-config.yaml",
        "pods/hello.yaml", "prometheus/rules.yaml",
    ):  # fmt: skip
        assert etc.joinpath(name).read_text() == SOURCES.joinpath("etc", name).read_text()
    unit = etc.joinpath("systemd/troupelet.service").read_text()
    assert f"ExecStart={prefix}/bin/supervise start " in unit
    assert "/opt/troupelet" not in unit
    of_builders = {"debian", "image"}
    assert {path.name for path in etc.iterdir()} == {
        path.name for path in SOURCES.joinpath("etc").iterdir()
    } - of_builders


def test_manual_pages_and_completion_are_where_the_system_looks_below_a_prefix(prefix: Path) -> None:
    share = prefix / "share"
    pages = {page.name for page in share.joinpath("man/man8").iterdir()}
    assert {"supervise.8", "supervise-start.8", "supervise-doctor.8"} <= pages
    assert share.joinpath("man/man8/kubelet.8").read_text() == ".so man8/supervise-start.8\n"
    start = share.joinpath("man/man8/supervise-start.8").read_text().replace("\\-", "-")
    assert "--bootstrap-kubeconfig" in start
    places = {
        "bash": "bash-completion/completions/supervise", "zsh": "zsh/site-functions/_supervise",
        "fish": "fish/vendor_completions.d/supervise.fish",
    }  # fmt: skip
    for shell, place in places.items():
        assert share.joinpath(place).read_text() == run(prefix, "supervise", "completion", shell).stdout


def test_the_same_sources_make_the_same_wheel(prefix: Path, tmp_path: Path) -> None:
    """Whatever the terminal, the time zone and the environment of who builds it."""
    odd = {"COLUMNS": "200", "TZ": "Asia/Tokyo", "PYTHONHASHSEED": "7", "TROUPELET_ROOT_DIR": "/elsewhere"}
    make("wheel", f"DIST={tmp_path}", seconds=400, environment=odd)
    (one,), (two,) = prefix.parent.glob("dist/*.whl"), tmp_path.glob("*.whl")
    assert one.read_bytes() == two.read_bytes()


def test_the_agent_runs_from_the_installation(prefix: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="agent-") as directory:
        root = Path(directory, "root")
        flags = [
            *HARMLESS, f"--root-dir={root}", f"--healthz-port={free_port()}", f"--port={free_port()}",
            f"--container-runtime-endpoint=unix://{directory}/none.sock",
        ]  # fmt: skip
        environment = dict.fromkeys(("PYTHONPATH", "VIRTUAL_ENV"), "")
        with AgentCommand([str(prefix / "bin/kubelet"), *flags], root, environment, cwd=Path("/")) as agent:
            agent.wait_ready()
            loaded = Path(f"/proc/{agent.process.pid}/maps").read_text()
            assert str(SOURCES) not in loaded
            assert os.readlink(f"/proc/{agent.process.pid}/cwd") == "/"
            refused = uninstall(prefix)
            assert refused.returncode != 0
            assert f"something runs from {prefix}" in refused.stderr
            assert agent.stop() == 0


def test_uninstall_removes_all_of_an_installation(prefix: Path) -> None:
    """The last one with it."""
    done = uninstall(prefix)
    assert (done.returncode, done.stdout) == (0, f"removed: {prefix}\n"), done.stderr
    assert list(prefix.parent.glob("opt*")) == []


def test_uninstall_removes_what_was_installed_and_nothing_else(tmp_path: Path) -> None:
    place = tmp_path / "opt"
    for name in ("bin/supervise", "share/troupelet/etc/supervision.yaml", "pyvenv.cfg"):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).touch()

    refused = uninstall(place)
    assert refused.returncode != 0, "what cannot be run was not installed"
    assert "it stays" in refused.stderr
    (place / "bin/supervise").chmod(0o755)
    done = uninstall(place)
    assert (done.returncode, done.stdout) == (0, f"removed: {place}\n")
    assert not place.exists()
    assert uninstall(place).stdout == f"nothing is installed in {place}\n"
