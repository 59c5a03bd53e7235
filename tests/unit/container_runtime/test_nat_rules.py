"""Which rules are taken out when a network goes, and that those of others stay."""

from __future__ import annotations

from actors.container_runtime.nat_rules import removal

SAVED = r"""*nat
:POSTROUTING ACCEPT [0:0]
:CNI-0a - [0:0]
:CNI-0b - [0:0]
:CNI-DN-0a - [0:0]
:CNI-HOSTPORT-DNAT - [0:0]
:CNI-HOSTPORT-MASQ - [0:0]
-A PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT
-A POSTROUTING -s 10.64.0.2/32 -m comment --comment "name: \"trpours\" id: \"aa\"" -j CNI-0a
-A POSTROUTING -s 10.88.0.2/32 -m comment --comment "name: \"podman\" id: \"bb\"" -j CNI-0b
-A CNI-0a -d 10.64.0.0/22 -m comment --comment "name: \"trpours\" id: \"aa\"" -j ACCEPT
-A CNI-0a ! -d 224.0.0.0/4 -m comment --comment "name: \"trpours\" id: \"aa\"" -j MASQUERADE
-A CNI-0b ! -d 224.0.0.0/4 -m comment --comment "name: \"podman\" id: \"bb\"" -j MASQUERADE
-A CNI-DN-0a -s 10.64.0.0/22 -p tcp -m tcp --dport 8080 -j CNI-HOSTPORT-SETMARK
-A CNI-DN-0a -p tcp -m tcp --dport 8080 -j DNAT --to-destination 10.64.0.2:80
-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \"trpours\" id: \"aa\"" -m tcp --dport 8080 -j CNI-DN-0a
COMMIT
"""


def test_the_networks_rules_and_chains_go_and_nothing_else() -> None:
    lines = removal(SAVED, "trpours").splitlines()
    assert lines[0] == "*nat"
    assert lines[-1] == "COMMIT"
    jumps = [line for line in lines if line.startswith("-D")]
    assert [line.split()[1] for line in jumps] == ["POSTROUTING", "CNI-HOSTPORT-DNAT"]
    assert all("trpours" in line for line in jumps)
    assert [line for line in lines if line.startswith("-F")] == ["-F CNI-0a", "-F CNI-DN-0a"]
    assert [line for line in lines if line.startswith("-X")] == ["-X CNI-0a", "-X CNI-DN-0a"]
    assert not any("0b" in line or "podman" in line for line in lines)


def test_a_chain_is_deleted_only_when_no_rule_jumps_to_it() -> None:
    lines = removal(SAVED, "trpours").splitlines()
    assert max(at for at, line in enumerate(lines) if line[:2] == "-D") < min(
        at for at, line in enumerate(lines) if line[:2] == "-F"
    )


def test_a_network_whose_name_begins_like_ours_is_not_ours() -> None:
    assert removal(SAVED, "trpour") == ""


def test_without_rules_there_is_nothing_to_do() -> None:
    assert removal("", "trpours") == ""
    assert removal("*nat\n:POSTROUTING ACCEPT [0:0]\nCOMMIT\n", "trpours") == ""
