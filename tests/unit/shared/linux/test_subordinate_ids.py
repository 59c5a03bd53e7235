"""The IDs that the user kubelet may give away."""

from __future__ import annotations

import pytest

from actors.shared.linux.subordinate_ids import (
    IdRange,
    SubordinateIdsError,
    assigned,
    check,
    default_range,
    output_of,
    parse,
)

SIZE = 65536


async def answer(argv: list[str]) -> str:
    return "0: kubelet 65536 7208960\n"


async def other_groups(argv: list[str]) -> str:
    return "0: kubelet 65536 65536\n" if "-g" in argv else await answer(argv)


async def test_users_and_groups_have_the_same_ids() -> None:
    assert await assigned("getsubids", answer) == IdRange(65536, 7208960)
    with pytest.raises(SubordinateIdsError, match="must be equal"):
        await assigned("getsubids", other_groups)


@pytest.mark.parametrize("text", ["", "0: kubelet 65536", "0: kubelet a b", "0: k 1 2\n1: k 3 4", "0: kubelet -1 ٣"])
def test_other_lines_are_refused(text: str) -> None:
    with pytest.raises(SubordinateIdsError, match="exactly one line"):
        parse(text)


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (IdRange(65537, SIZE), "kubelet user assigned ID 65537 is not a multiple of 65536"),
        (IdRange(0, SIZE), "kubelet user assigned ID 0 must be greater or equal to 65536"),
        (IdRange(SIZE, SIZE + 1), "kubelet user assigned IDs length 65537 is not a multiple of 65536"),
        (IdRange(SIZE, SIZE), "kubelet user assigned IDs are not enough to support 2 pods"),
        (
            IdRange(1 << 32, SIZE),
            f"kubelet user assigned {SIZE} IDs from 4294967296 on, beyond the largest ID 4294967295",
        ),
    ],
)
def test_an_unsuitable_range_is_refused_with_the_kubelets_message(found: IdRange, text: str) -> None:
    with pytest.raises(SubordinateIdsError, match=f"^{text}$"):
        check(found, SIZE, 2)


def test_without_the_user_all_ids_beyond_the_hosts_are_used() -> None:
    found = default_range(SIZE)
    check(found, SIZE, 65535)
    assert found.first + found.length == 1 << 32


async def test_the_error_output_of_a_failed_program_is_reported() -> None:
    assert await output_of(["echo", "x"]) == "x\n"
    with pytest.raises(SubordinateIdsError, match="sh -c echo no"):
        await output_of(["sh", "-c", "echo no >&2; exit 1"])
    with pytest.raises(SubordinateIdsError, match="No such file"):
        await output_of(["/missing/getsubids"])
