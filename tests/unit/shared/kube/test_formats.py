"""The forms of names: each has its characters and its greatest length."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from actors.shared.kube import formats

SUBDOMAIN = ".".join(["a" * 63] * 3 + ["a" * 61])


@pytest.mark.parametrize(
    ("check", "valid"),
    [
        (formats.dns_label, ["a", "a-1", "a" * 63]),
        (formats.dns_subdomain, ["a.b", SUBDOMAIN]),
        (formats.qualified_name, ["a", "A_b.c", "x.io/a", "a" * 63, f"{SUBDOMAIN}/{'a' * 63}"]),
        (formats.label_value, ["", "a", "A_b.c", "a" * 63]),
        (formats.port_name, ["http", "a" * 15, "8080-tcp"]),
        (formats.env_name, ["A", "a b", "~"]),
        (formats.ip_address, ["10.0.0.1", "::1"]),
        (formats.sysctl_name, ["net.ipv4.ip_forward", "net/ipv4/conf.x/y", ".".join(["a" * 63] * 3 + ["a" * 61])]),
        (formats.header_name, ["X-A", "a"]),
        (formats.inside_path, ["a/b", "", "a..b"]),
    ],
)
def test_a_valid_name_is_accepted(check: Callable[[str], str], valid: list[str]) -> None:
    assert [check(text) for text in valid] == [""] * len(valid)


@pytest.mark.parametrize(
    ("check", "invalid"),
    [
        (formats.dns_label, ["", "A", "-a", "a-", "a.b", "a" * 64]),
        (formats.dns_subdomain, ["", "a..b", "A.b", f"{SUBDOMAIN}a"]),
        (formats.qualified_name, ["", "/", "/a", "x.io/", "X.io/a", "a/b/c", "-a", "a" * 64, f"x.io/{'a' * 64}"]),
        (formats.label_value, ["-a", "a-", "a b", "a" * 64]),
        (formats.port_name, ["", "8080", "A", "a--b", "-a", "a" * 16]),
        (formats.env_name, ["", "A=B", "ä", "\t"]),
        (formats.ip_address, ["", "10.0.0", "host"]),
        (formats.sysctl_name, ["", "A", "a..b", ".".join(["a" * 63] * 3 + ["a" * 62])]),
        (formats.header_name, ["", "X A", "X:"]),
        (formats.inside_path, ["/a", "..", "a/../b"]),
    ],
)
def test_an_invalid_name_is_refused(check: Callable[[str], str], invalid: list[str]) -> None:
    assert [text for text in invalid if not check(text)] == []


def test_ports_are_numbers_from_1_to_65535() -> None:
    assert [bool(formats.port_number(number)) for number in (0, 1, 65535, 65536)] == [True, False, False, True]
