"""The host's resolv.conf against the limits of the kubelet."""

from __future__ import annotations

import pytest

from actors.shared.linux.resolv_conf import MAX_SEARCH_CHARACTERS, exceeded

PATH = "/etc/resolv.conf"


def searching(count: int, length: int = 3) -> str:
    """`count` domains of `length` characters."""
    return "search " + " ".join("d" * length for _ in range(count)) + "\n"


@pytest.mark.parametrize(
    ("text", "cluster", "words"),
    [
        ("nameserver 192.0.2.1\n", True, ""),
        (searching(29), True, ""),
        (searching(30), True, "consisting of more than 29 domains!"),
        (searching(32), False, ""),
        (searching(33), False, "consisting of more than 32 domains!"),
        (searching(8, 253), True, ""),
        (searching(9, 240), True, f"which length is more than allowed {MAX_SEARCH_CHARACTERS} chars!"),
        (searching(33) + searching(1), True, ""),
    ],
)
def test_domains_of_the_host_leave_room_for_those_of_the_cluster(text: str, cluster: bool, words: str) -> None:
    found = exceeded(PATH, text, cluster_domain=cluster)
    assert found == (f"Resolv.conf file '{PATH}' contains search line {words}" if words else "")


def test_a_domain_that_resolvers_reject_is_reported() -> None:
    text = f'Resolv.conf file "{PATH}" contains a search path which length is more than allowed 253 chars!'
    assert exceeded(PATH, searching(1, 254), cluster_domain=True) == text
