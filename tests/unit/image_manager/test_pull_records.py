"""Which pods may use a present image, by the records of its pulls."""

from __future__ import annotations

import hashlib
import json

import msgspec
import pytest

from actors.image_manager.keyring import Credential
from actors.image_manager.pull_records import (
    MAX_SOURCES,
    FoundCredential,
    ImagePulledRecord,
    ImagePullSecret,
    ServiceAccount,
    accessible_by_all,
    credential_hash,
    file_name,
    lacks,
    matching,
    needs_verification,
    read_intent,
    read_record,
    with_pull,
)

NAME, NOW = "registry.test/app", "2026-01-01T00:00:00Z"
MINE, OTHER = ImagePullSecret("1", "mine", "s"), ImagePullSecret("2", "other", "t")
PASSWORD, WRONG = Credential("me", "password"), Credential("me", "wrong")
ROBOT = ServiceAccount("3", "mine", "robot")


def accessible(record: ImagePulledRecord | None, name: str, found: list[FoundCredential]) -> bool:
    return accessible_by_all(record, name) or matching(record, name, found) is not None


def pulled(*used: FoundCredential | None) -> ImagePulledRecord:
    record = None
    for one in used:
        record = with_pull(record, "sha256:1", NAME, one, NOW)
    assert record is not None
    return record


@pytest.mark.parametrize(
    ("policy", "pulled_by_agent", "verified"),
    [
        ("", True, False),
        ("NeverVerify", True, False),
        ("NeverVerifyPreloadedImages", False, False),
        ("NeverVerifyPreloadedImages", True, True),
        ("NeverVerifyAllowlistedImages", False, True),
        ("AlwaysVerify", False, True),
    ],
)
def test_the_policy_decides_which_present_images_are_verified(
    policy: str, pulled_by_agent: bool, verified: bool
) -> None:
    assert needs_verification(policy, NAME, [], pulled=pulled_by_agent) is verified


@pytest.mark.parametrize(
    ("pattern", "name", "allowed"),
    [
        ("registry.test/app", NAME, True),
        ("registry.test/*", NAME, True),
        ("registry.test/ap", NAME, False),
        ("registry.te/*", NAME, False),
        ("busybox", "busybox", True),
        ("docker.io/library/busybox", "busybox", False),
        ("docker.io/library/*", "busybox", False),
    ],
)
def test_an_image_that_the_allow_list_has_as_the_pod_does_is_not_verified(
    pattern: str, name: str, allowed: bool
) -> None:
    assert needs_verification("NeverVerifyAllowlistedImages", name, [pattern], pulled=True) is not allowed


def test_a_pod_with_the_same_secret_or_the_same_credential_may_use_the_image() -> None:
    record = pulled(FoundCredential(PASSWORD, MINE))
    assert accessible(record, NAME, [FoundCredential(PASSWORD, MINE)])
    assert accessible(record, NAME, [FoundCredential(WRONG, MINE)]), "the secret has another password by now"
    assert accessible(record, NAME, [FoundCredential(PASSWORD, OTHER)]), "another secret with the same credential"
    assert not accessible(record, NAME, [FoundCredential(WRONG, OTHER)])
    assert not accessible(record, NAME, [FoundCredential(PASSWORD)]), "the node's credential was not tried"
    assert not accessible(record, NAME, [])
    assert not accessible_by_all(record, NAME)


def test_a_pod_of_the_same_service_account_may_use_the_image() -> None:
    record = pulled(FoundCredential(PASSWORD, ROBOT))
    assert accessible(record, NAME, [FoundCredential(WRONG, ROBOT)])
    assert not accessible(record, NAME, [FoundCredential(PASSWORD, ServiceAccount("3", "mine", "human"))])


@pytest.mark.parametrize("used", [None, FoundCredential(PASSWORD)], ids=["anonymous", "of the node"])
def test_images_pulled_anonymously_or_by_the_node_are_for_every_pod(used: FoundCredential | None) -> None:
    record = pulled(FoundCredential(PASSWORD, MINE), used)
    assert accessible_by_all(record, NAME)
    assert accessible(record, NAME, [])


def test_a_record_is_for_the_name_by_which_the_image_was_pulled() -> None:
    record = with_pull(pulled(None), "sha256:1", "busybox", FoundCredential(PASSWORD, MINE), NOW)
    assert list(record.credentialMapping) == [NAME, "busybox"], "names as pods have them, as the kubelet writes them"
    assert accessible(record, "busybox", [FoundCredential(PASSWORD, MINE)])
    assert not accessible(record, "docker.io/library/busybox", [FoundCredential(PASSWORD, MINE)])
    assert not accessible(record, "other.test/app", [FoundCredential(PASSWORD, MINE)])
    assert not accessible(None, NAME, [FoundCredential(PASSWORD, MINE)])
    assert not accessible(ImagePulledRecord("sha256:1"), NAME, [FoundCredential(PASSWORD, MINE)])


def test_full_names_of_earlier_versions_are_read_and_continued_under_the_name_of_the_pod() -> None:
    before = with_pull(None, "sha256:1", "docker.io/library/busybox", FoundCredential(PASSWORD, MINE), NOW)
    assert accessible(before, "busybox", [FoundCredential(PASSWORD, MINE)])
    after = with_pull(before, "sha256:1", "busybox", FoundCredential(WRONG, OTHER), NOW)
    for found in (FoundCredential(PASSWORD, MINE), FoundCredential(WRONG, OTHER)):
        assert accessible(after, "busybox", [found])


def test_an_image_for_every_pod_needs_no_credentials_in_its_record() -> None:
    entry = pulled(FoundCredential(PASSWORD, MINE), None, FoundCredential(WRONG, OTHER)).credentialMapping[NAME]
    assert msgspec.to_builtins(entry) == {"nodePodsAccessible": True}


def test_a_secret_that_gave_access_is_recorded_unless_it_is_already_or_there_are_too_many() -> None:
    record = pulled(FoundCredential(PASSWORD, MINE))
    assert not lacks(record, NAME, FoundCredential(PASSWORD, MINE))
    assert lacks(record, NAME, FoundCredential(PASSWORD, OTHER)), "the same credential in another secret"
    assert lacks(record, NAME, FoundCredential(WRONG, MINE)), "another credential in the same secret"
    assert not lacks(record, NAME, FoundCredential(PASSWORD, ROBOT))
    secrets = [ImagePullSecret(str(number), "mine", "s") for number in range(MAX_SOURCES)]
    full = pulled(*(FoundCredential(PASSWORD, secret) for secret in secrets))
    assert not lacks(full, NAME, FoundCredential(PASSWORD, OTHER))


def test_a_secret_is_recorded_once_and_a_limited_number_is_kept() -> None:
    record = pulled(
        *(FoundCredential(Credential(str(number)), ImagePullSecret("1", "mine", "s")) for number in range(3))
    )
    assert len(record.credentialMapping[NAME].kubernetesSecrets) == 1
    record = pulled(
        *(FoundCredential(PASSWORD, ImagePullSecret(str(number), "mine", "s")) for number in range(2 * MAX_SOURCES))
    )
    assert len(record.credentialMapping[NAME].kubernetesSecrets) == MAX_SOURCES


def test_the_json_is_the_kubelets() -> None:
    data = json.loads(msgspec.json.encode(pulled(FoundCredential(PASSWORD, MINE))))
    assert (data["kind"], data["imageRef"], data["lastUpdatedTime"]) == ("ImagePulledRecord", "sha256:1", NOW)
    [secret] = data["credentialMapping"][NAME]["kubernetesSecrets"]
    assert (secret["uid"], secret["namespace"], secret["name"]) == ("1", "mine", "s")
    assert "password" not in json.dumps(data)
    assert file_name("a") == "sha256-ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"


def test_a_record_is_read_back_and_invalid_data_is_no_record() -> None:
    record = pulled(FoundCredential(PASSWORD, MINE), FoundCredential(PASSWORD, ROBOT))
    assert read_record(msgspec.json.encode(record)) == record
    for rubbish in (b"", b"{", b"[]", b"{}", b'{"kind": "ImagePullIntent", "image": "x"}'):
        assert read_record(rubbish) is None
    assert read_intent(b'{"kind": "ImagePullIntent", "image": "x"}') is not None
    assert read_intent(b"{}") is None


@pytest.mark.parametrize(
    ("credential", "expected"),
    [
        (
            Credential("ada", "smash", email="ada@example.com"),
            "353258b53f5e9a57b059eab3f05312fc35bbeb874f08ce101e7bf0bf46977423",
        ),
        (
            Credential("rex", "tiny arms", "not hashed", email="rex@example.com"),
            "899748fec74c8dd761845fca727f4249b05be275ff24026676fcd4351f656363",
        ),
        (Credential("a<b", "&"), hashlib.sha256(rb'{"username":"a\u003cb","password":"\u0026"}').hexdigest()),
    ],
)
def test_the_hash_of_a_credential_is_the_kubelets(credential: Credential, expected: str) -> None:
    assert credential_hash(credential) == expected
