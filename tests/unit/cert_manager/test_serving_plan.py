"""When a serving pair stays, is created, is requested, or is reported as broken."""

from __future__ import annotations

import msgspec
import pytest

from actors.cert_manager.certificate import Certificate
from actors.cert_manager.serving_plan import (
    RENEW_BEFORE_SECONDS,
    ServingPairAction,
    check,
    names_to_sign,
    subject_names,
    to_request,
)

NOW = 1_000_000_000.0
DAY = 86400.0
GOOD = Certificate(
    NOW - DAY,
    NOW + RENEW_BEFORE_SECONDS + 1,
    "system:node:n",
    dns_names=("n",),
    ips=("127.0.0.1",),
    fingerprint="0" * 64,
)


def but(**changes):
    return msgspec.structs.replace(GOOD, **changes)


@pytest.mark.parametrize(
    ("pair", "given", "required", "action"),
    [
        (GOOD, False, ["n"], ServingPairAction.KEEP),
        (None, False, ["n"], ServingPairAction.MAKE),
        (but(not_after=NOW + 60), False, ["n"], ServingPairAction.MAKE),
        (GOOD, False, ["n", "10.0.0.1"], ServingPairAction.MAKE),
        (GOOD, True, ["other"], ServingPairAction.KEEP),
        (but(not_after=NOW - 1), True, ["n"], ServingPairAction.KEEP),
        (None, True, ["n"], ServingPairAction.BROKEN),
    ],
)
def test_a_pair_stays_is_created_or_is_broken(pair, given, required, action):
    assert check(pair, given=given, required=required, now=NOW) is action


@pytest.mark.parametrize(
    ("pair", "required", "requested"),
    [
        (None, ["n"], True),
        (GOOD, ["n", "127.0.0.1"], False),
        (GOOD, ["127.0.0.1"], False),
        (GOOD, ["n", "10.0.0.1"], True),
        (but(common_name="system:node:other"), ["n"], True),
        (but(not_before=NOW - 69 * DAY, not_after=NOW + 31 * DAY), ["n"], False),
        (but(not_before=NOW - 71 * DAY, not_after=NOW + 29 * DAY), ["n"], True),
        (but(not_after=NOW - 1), ["n"], True),
    ],
)
def test_a_signed_pair_is_requested_when_it_is_missing_due_or_lacks_a_name(pair, required, requested):
    assert to_request(pair, "system:node:n", required, NOW) is requested


@pytest.mark.parametrize(
    ("ips", "names", "dns_only", "expected"),
    [
        (["10.0.0.2", "10.0.0.1"], ["n"], False, ("n", "10.0.0.1", "10.0.0.2")),
        (["fd00:0::1"], [], False, ("fd00::1",)),
        ([], ["n"], False, ()),
        ([], ["n"], True, ("n",)),
        ([], ["10.0.0.1"], False, ("10.0.0.1",)),
        ([], [], True, ()),
        (["10.0.0.1"], ["10.0.0.1", "n", "n", ""], False, ("n", "10.0.0.1")),
    ],
)
def test_names_to_sign_need_an_address_unless_the_gate_is_on(ips, names, dns_only, expected):
    assert names_to_sign(ips, names, dns_only=dns_only) == expected


def test_subject_names_have_no_duplicates_and_start_with_the_node():
    assert subject_names("n", "10.0.0.1,fd00::1", ["10.0.0.1"]) == [
        "n",
        "10.0.0.1",
        "fd00::1",
        "localhost",
        "127.0.0.1",
    ]


def test_without_a_node_ip_no_empty_name_is_requested():
    assert subject_names("n", "", ["10.0.0.1"]) == ["n", "10.0.0.1", "localhost", "127.0.0.1"]
