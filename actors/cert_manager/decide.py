"""Whether a serving pair can be used, or a new one must be made. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

RENEW_BEFORE_SECONDS = 30 * 24 * 3600
"""A self-signed pair this close to its end is replaced."""


class Verdict(StrEnum):
    KEEP = "keep"
    MAKE = "make"
    BROKEN = "broken"
    """The operator's own pair is not usable: it is never replaced by one of ours."""


def judge(pair: dict[str, Any] | None, *, given: bool, wanted: Iterable[str], now: float) -> Verdict:
    """`pair` is what `selfsigned.inspect` found (None: not there or not readable); `given`: the operator's files."""
    if given:
        return Verdict.KEEP if pair is not None and pair["matches"] else Verdict.BROKEN
    if pair is None or not pair["matches"]:
        return Verdict.MAKE
    if pair["not_after"] - now < RENEW_BEFORE_SECONDS:
        return Verdict.MAKE
    return Verdict.KEEP if set(wanted) <= set(pair["names"]) else Verdict.MAKE


def subject_names(node_name: str, node_ip: str, addresses: Iterable[str]) -> list[str]:
    """Names and addresses for the SAN, each once: the node's name, its addresses, localhost."""
    wanted = [node_name, *(part for part in node_ip.split(",") if part), *addresses, "localhost", "127.0.0.1"]
    return list(dict.fromkeys(wanted))
