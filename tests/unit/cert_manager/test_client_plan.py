"""What is done for the client certificate, by the state of the files."""

from __future__ import annotations

import itertools

import pytest

from actors.cert_manager.certificate import Certificate
from actors.cert_manager.client_plan import Action, Bootstrap, Config, Facts, config_of, decide, is_of_node, to_rotate

A, B, U = Bootstrap.ABSENT, Bootstrap.BROKEN, Bootstrap.USABLE
NODE = Certificate(0.0, 100.0, "system:node:n1", ("system:nodes",), fingerprint="0" * 64)


@pytest.mark.parametrize(
    ("facts", "action"),
    [
        # a kubeconfig that works wins
        (Facts(Config.GOOD, U, stored=False), Action.USE),
        (Facts(Config.GOOD, U, stored=True), Action.USE),
        (Facts(Config.GOOD, A, stored=True, newer=True), Action.ADOPT),
        (Facts(Config.OTHER, U, stored=True, newer=True), Action.USE),
        # one that does not is replaced
        (Facts(Config.ABSENT, U, stored=False), Action.BOOTSTRAP),
        (Facts(Config.ABSENT, U, stored=True), Action.WRITE),
        (Facts(Config.BROKEN, U, stored=False), Action.BOOTSTRAP),
        (Facts(Config.BROKEN, U, stored=True), Action.WRITE),
        (Facts(Config.BROKEN, U, stored=False, fresh=True), Action.WAIT),
        (Facts(Config.ENDED, U, stored=False), Action.BOOTSTRAP),
        (Facts(Config.ENDED, U, stored=True), Action.WRITE),
        # without a way to
        (Facts(Config.ENDED, A, stored=True), Action.ADOPT),
        (Facts(Config.ENDED, A, stored=False), Action.ENDED),
        (Facts(Config.ENDED, B, stored=False), Action.ENDED),
        (Facts(Config.ABSENT, A, stored=False), Action.WAIT),
        (Facts(Config.ABSENT, A, stored=True), Action.WAIT),
        (Facts(Config.ABSENT, B, stored=False), Action.WAIT),
        (Facts(Config.BROKEN, A, stored=True), Action.WAIT),
    ],
)
def test_the_action_follows_from_the_files(facts, action):
    assert decide(facts) is action


def test_whatever_the_files_are_the_bootstrap_credentials_are_used_only_when_there_is_no_better():
    flags = (False, True)
    for config, bootstrap, stored, newer, fresh in itertools.product(Config, Bootstrap, flags, flags, flags):
        facts = Facts(config, bootstrap, stored=stored, newer=newer, fresh=fresh)
        if decide(facts) is Action.BOOTSTRAP:
            assert bootstrap is U
            assert not stored
            assert config not in (Config.GOOD, Config.OTHER)


@pytest.mark.parametrize(("now", "found"), [(-5.0, Config.GOOD), (100.0, Config.GOOD), (100.1, Config.ENDED)])
def test_a_certificate_that_is_not_valid_yet_counts_as_good(now, found):
    assert config_of(NODE, now) is found


def test_a_kubeconfig_without_certificate_has_other_credentials():
    assert config_of(None, 0.0) is Config.OTHER


@pytest.mark.parametrize(
    ("certificate", "wanted", "now", "rotates"),
    [
        (NODE, True, 69.0, False),
        (NODE, True, 71.0, True),
        (NODE, True, 200.0, True),
        (NODE, True, -1e9, False),
        (NODE, False, 95.0, False),
        (None, True, 95.0, False),
        (Certificate(0.0, 100.0, "kubernetes-admin", ("system:masters",)), True, 95.0, False),
    ],
)
def test_only_the_nodes_own_certificate_is_rotated_when_due(certificate, wanted, now, rotates):
    assert to_rotate(certificate, "n1", now, wanted=wanted) is rotates


def test_the_certificate_of_another_node_is_not_this_nodes():
    assert is_of_node(NODE, "n1")
    assert not is_of_node(NODE, "n2")
    assert not is_of_node(Certificate(0, 1, "system:node:n1", ("others",)), "n1")
