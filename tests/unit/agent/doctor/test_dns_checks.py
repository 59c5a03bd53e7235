"""The doctor checks the DNS servers that pods get."""

from __future__ import annotations

import socket
import threading
from pathlib import Path

import pytest

from actors.agent.doctor.dns_checks import answers, dns
from actors.agent.doctor.finding import Level
from actors.shared.config.agent import Agent
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration


@pytest.mark.parametrize(
    ("text", "level", "said"),
    [
        ("nameserver 10.0.0.1\n", Level.OK, "names 10.0.0.1"),
        ("nameserver 127.0.0.53\n", Level.WARNING, "names 127.0.0.53, which is another host to a pod"),
        ("search x\n", Level.WARNING, "names no server"),
        (
            None,
            Level.FAILURE,
            "resolvConf: /etc/resolv.conf cannot be read: No such file or directory: no new pod starts",
        ),
    ],
)
def test_the_resolver_of_pods_is_looked_at(tmp_path: Path, text: str | None, level: Level, said: str) -> None:
    (tmp_path / "etc").mkdir()
    if text is not None:
        (tmp_path / "etc/resolv.conf").write_text(text)
    config = KubeletConfiguration(resolvConf="/etc/resolv.conf")
    (found,) = dns(Agent(config=config), str(tmp_path), lambda servers: ())
    assert found.level is level
    assert said in found.text


def test_a_resolver_on_the_host_is_replaced_by_a_file_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/resolv.conf").write_text("nameserver 127.0.0.53\n")
    agent = Agent(config=KubeletConfiguration(resolvConf="/etc/resolv.conf"))
    (none,) = dns(agent, str(tmp_path))
    assert none.remedy == "resolvConf: a file that you write, with the servers that this one asks"
    (tmp_path / "run/systemd/resolve").mkdir(parents=True)
    (tmp_path / "run/systemd/resolve/resolv.conf").write_text("nameserver 10.0.0.1\n")
    (there,) = dns(agent, str(tmp_path))
    assert there.remedy == "resolvConf: /run/systemd/resolve/resolv.conf"


def test_a_cluster_without_dns_is_a_warning() -> None:
    (found,) = dns(Agent(config=KubeletConfiguration(resolvConf=""), standalone=False))
    assert found.text == "clusterDNS is empty: pods do not find the cluster's services"


def test_servers_that_do_not_answer_are_a_warning(tmp_path: Path) -> None:
    (tmp_path / "resolv.conf").write_text("nameserver 10.0.0.1\nnameserver 10.0.0.2\n")
    agent = Agent(config=KubeletConfiguration(resolvConf=f"{tmp_path}/resolv.conf"))
    (found,) = dns(agent, silent=lambda servers: servers[1:])
    assert found.level is Level.WARNING
    assert found.text.startswith(f"10.0.0.2 of {tmp_path}/resolv.conf does not answer")
    assert "UDP to port 53 of 10.0.0.2" in found.remedy


def test_what_pods_do_not_get_of_a_long_file_is_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "resolv.conf"
    lines = [*(f"nameserver 10.0.0.{number}" for number in range(4)), f"search {' '.join(f'd{n}' for n in range(33))}"]
    path.write_text("\n".join(lines))
    agent = Agent(config=KubeletConfiguration(resolvConf=str(path)))
    search, servers, names = dns(agent, silent=lambda servers: ())
    assert (search.level, servers.level, names.level) == (Level.WARNING, Level.WARNING, Level.OK)
    assert "search line consisting of more than 32 domains" in search.text
    assert servers.text == f"{path} names 4 servers: pods get the first 3"


def test_a_refusal_is_an_answer_too() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]

        def answer() -> None:
            question, asker = server.recvfrom(512)
            server.sendto(question[:2] + b"\x80\x05" + question[4:], asker)

        thread = threading.Thread(target=answer)
        thread.start()
        assert answers("127.0.0.1", port, seconds=10.0)
        thread.join()
        assert not answers("127.0.0.1", port, seconds=0.05), "it listens, and says nothing"
    assert not answers("127.0.0.1", port, seconds=10.0), "a closed port is known at once"
    assert not answers("no-address", port)
