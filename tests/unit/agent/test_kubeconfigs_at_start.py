"""Which kubeconfigs forbid a start, and what the start knows of the one that it uses."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from actors.agent import start
from actors.agent.validation import kubeconfigs
from actors.shared.api.access import ServerAccess
from actors.shared.config.agent import Agent
from supervision.application import Application
from supervision.spec import ChildSpec
from tests.support.apiserver.kubeconfigs import write

SERVER = "https://127.0.0.1:6443"


@pytest.fixture
def joining(tmp_path: Path) -> Agent:
    write(tmp_path / "kubelet.conf", SERVER, b"", {"token": "t"})
    write(tmp_path / "bootstrap.conf", SERVER, b"", {"token": "b"})
    return Agent(standalone=False, kubeconfig=str(tmp_path / "kubelet.conf"))


def flags(agent: Agent) -> list[str]:
    return sorted({problem.path for problem in kubeconfigs(agent)})


def spoil(path: str | Path) -> None:
    Path(path).write_text("users: 7\n")


def test_a_node_that_joins_nothing_needs_no_kubeconfig(joining: Agent) -> None:
    spoil(joining.kubeconfig)
    assert flags(joining) == ["--kubeconfig"]
    assert flags(msgspec.structs.replace(joining, standalone=True)) == []


def test_a_bootstrap_kubeconfig_makes_up_for_a_kubeconfig_that_is_wrong(joining: Agent, tmp_path: Path) -> None:
    bootstrap = tmp_path / "bootstrap.conf"
    both = msgspec.structs.replace(joining, bootstrap_kubeconfig=str(bootstrap))
    assert flags(both) == []
    spoil(joining.kubeconfig)
    assert flags(both) == []
    spoil(bootstrap)
    assert flags(both) == ["--bootstrap-kubeconfig", "--kubeconfig"]
    write(Path(joining.kubeconfig), SERVER, b"", {"token": "t"})
    assert flags(both) == [], "the bootstrap kubeconfig is not used then"


def test_the_actors_begin_with_the_kubeconfig_as_the_start_has_loaded_it(joining: Agent, tmp_path: Path) -> None:
    application = Application(name="n", tree=ChildSpec(name="root"), run_dir=tmp_path, context=joining)
    loading = start._start_load(joining)
    assert loading is not None
    told = start._with_access(application, joining, loading).context
    assert msgspec.msgpack.decode(told.access, type=ServerAccess).token == "t"
    assert start._start_load(msgspec.structs.replace(joining, standalone=True)) is None
    spoil(joining.kubeconfig)
    assert start._start_load(joining) is None
