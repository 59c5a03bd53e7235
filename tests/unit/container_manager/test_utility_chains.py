"""Which chains of iptables are made, and when."""

from __future__ import annotations

from pathlib import Path

import pytest

from actors.container_manager.utility_chains import FIREWALL, IpFamily, UtilityChains, families, restore_input

FOUR, SIX = IpFamily("/iptables", "/iptables-restore", True), IpFamily("/ip6tables", "/ip6tables-restore", False)


class Tables:
    """Says what is there, and takes what is to be made."""

    def __init__(self, *there: str, error: str = "") -> None:
        self.there, self.error = there, error
        self.made: dict[str, str] = {}

    async def __call__(self, argv: list[str], given: bytes = b"") -> str:
        if argv[0].endswith("-restore"):
            self.made[argv[0]] = given.decode()
            return self.error
        asked = " ".join(argv[argv.index("-t") + 1 :])
        return "" if f"{argv[0]} {asked}" in self.there else "No chain/target/match by that name."


ALL = (
    "/iptables mangle -S KUBE-KUBELET-CANARY 1",
    "/iptables filter -C INPUT -j KUBE-FIREWALL",
    "/iptables filter -C OUTPUT -j KUBE-FIREWALL",
    "/ip6tables mangle -S KUBE-KUBELET-CANARY 1",
)


async def test_all_chains_are_created_if_none_is_there() -> None:
    tables = Tables()
    assert await UtilityChains([FOUR, SIX], tables).keep() == []
    assert tables.made == {
        "/iptables-restore": restore_input(["INPUT", "OUTPUT"], guarded=True),
        "/ip6tables-restore": restore_input([], guarded=False),
    }


async def test_no_chain_is_changed_if_all_are_there() -> None:
    tables = Tables(*ALL)
    assert await UtilityChains([FOUR, SIX], tables).keep() == []
    assert tables.made == {}


@pytest.mark.parametrize("gone", ALL)
async def test_missing_chains_are_restored_only_for_their_family(gone: str) -> None:
    tables = Tables(*(one for one in ALL if one != gone))
    assert await UtilityChains([FOUR, SIX], tables).keep() == []
    assert list(tables.made) == [f"{gone.split(maxsplit=1)[0]}-restore"]


async def test_a_chain_that_already_jumps_to_the_guard_is_unchanged() -> None:
    tables = Tables(*(one for one in ALL if "INPUT" not in one))
    await UtilityChains([FOUR], tables).keep()
    (text,) = tables.made.values()
    assert [line for line in text.splitlines() if line.endswith(f"-j {FIREWALL}")] == ["-I INPUT -j KUBE-FIREWALL"]


async def test_the_error_of_each_address_family_is_reported() -> None:
    tables = Tables(error="Permission denied")
    problems = await UtilityChains([FOUR, SIX], tables).keep()
    assert problems == ["iptables-restore: Permission denied", "ip6tables-restore: Permission denied"]


def test_families_are_those_that_the_host_has_programs_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    assert families(str(tmp_path)) == []
    for name in ("iptables", "iptables-restore", "ip6tables", "ip6tables-restore"):
        (programs / name).touch(mode=0o755)
    assert [family.has_guard for family in families(str(tmp_path))] == [True], "IPv6 is off"
    (tmp_path / "proc/net").mkdir(parents=True)
    (tmp_path / "proc/net/if_inet6").touch()
    assert [family.has_guard for family in families(str(tmp_path))] == [True, False]
