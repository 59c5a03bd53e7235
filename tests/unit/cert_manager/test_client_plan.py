"""The action for the client certificate, by the state of the files."""

from __future__ import annotations

import itertools

import pytest

from actors.cert_manager.certificate import Certificate
from actors.cert_manager.client_plan import (
    Bootstrap,
    ClientFacts,
    Config,
    KubeconfigAction,
    config_of,
    decide,
    is_of_node,
    needs_storing,
    to_rotate,
)

A, B, U = Bootstrap.ABSENT, Bootstrap.BROKEN, Bootstrap.USABLE
NODE = Certificate(0.0, 100.0, "system:node:n1", ("system:nodes",), fingerprint="0" * 64)


@pytest.mark.parametrize(
    ("facts", "action"),
    [
        # a kubeconfig that works wins
        (ClientFacts(Config.GOOD, U, stored=False), KubeconfigAction.USE),
        (ClientFacts(Config.GOOD, U, stored=True), KubeconfigAction.USE),
        (ClientFacts(Config.GOOD, A, stored=True, newer=True), KubeconfigAction.ADOPT),
        (ClientFacts(Config.OTHER, U, stored=True, newer=True), KubeconfigAction.USE),
        # one that does not is replaced
        (ClientFacts(Config.ABSENT, U, stored=False), KubeconfigAction.BOOTSTRAP),
        (ClientFacts(Config.ABSENT, U, stored=True), KubeconfigAction.WRITE),
        (ClientFacts(Config.BROKEN, U, stored=False), KubeconfigAction.BOOTSTRAP),
        (ClientFacts(Config.BROKEN, U, stored=True), KubeconfigAction.WRITE),
        (ClientFacts(Config.BROKEN, U, stored=False, fresh=True), KubeconfigAction.WAIT),
        (ClientFacts(Config.ENDED, U, stored=False), KubeconfigAction.BOOTSTRAP),
        (ClientFacts(Config.ENDED, U, stored=True), KubeconfigAction.WRITE),
        # without a way to
        (ClientFacts(Config.ENDED, A, stored=True), KubeconfigAction.ADOPT),
        (ClientFacts(Config.ENDED, A, stored=False), KubeconfigAction.ENDED),
        (ClientFacts(Config.ENDED, B, stored=False), KubeconfigAction.ENDED),
        (ClientFacts(Config.ABSENT, A, stored=False), KubeconfigAction.WAIT),
        (ClientFacts(Config.ABSENT, A, stored=True), KubeconfigAction.WAIT),
        (ClientFacts(Config.ABSENT, B, stored=False), KubeconfigAction.WAIT),
        (ClientFacts(Config.BROKEN, A, stored=True), KubeconfigAction.WAIT),
    ],
)
def test_the_action_follows_from_the_files(facts, action):
    assert decide(facts) is action


def test_the_bootstrap_credentials_are_used_only_without_a_usable_certificate():
    flags = (False, True)
    for config, bootstrap, stored, newer, fresh in itertools.product(Config, Bootstrap, flags, flags, flags):
        facts = ClientFacts(config, bootstrap, stored=stored, newer=newer, fresh=fresh)
        if decide(facts) is KubeconfigAction.BOOTSTRAP:
            assert bootstrap is U
            assert not stored
            assert config not in (Config.GOOD, Config.OTHER)


@pytest.mark.parametrize(("now", "state"), [(-5.0, Config.GOOD), (100.0, Config.GOOD), (100.1, Config.ENDED)])
def test_a_certificate_that_is_not_valid_yet_counts_as_good(now, state):
    assert config_of(NODE, now) is state


def test_a_kubeconfig_without_certificate_has_other_credentials():
    assert config_of(None, 0.0) is Config.OTHER


@pytest.mark.parametrize(
    ("certificate", "enabled", "now", "rotates"),
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
def test_only_the_nodes_own_certificate_is_rotated_when_due(certificate, enabled, now, rotates):
    assert to_rotate(certificate, "n1", now, enabled=enabled) is rotates


def test_the_certificate_of_another_node_does_not_belong_to_this_node():
    assert is_of_node(NODE, "n1")
    assert not is_of_node(NODE, "n2")
    assert not is_of_node(Certificate(0, 1, "system:node:n1", ("others",)), "n1")


ADMIN = Certificate(0.0, 100.0, "kubernetes-admin", ("system:masters",))


@pytest.mark.parametrize(
    ("config", "stored", "certificate", "needed"),
    [
        (Config.GOOD, False, NODE, True),
        (Config.GOOD, True, NODE, False),
        (Config.ENDED, False, NODE, False),
        (Config.GOOD, False, None, False),
        (Config.GOOD, False, ADMIN, False),
    ],
)
def test_only_a_good_certificate_of_the_node_is_stored_and_only_in_an_empty_store(config, stored, certificate, needed):
    assert needs_storing(ClientFacts(config, U, stored=stored), certificate, "n1") is needed
