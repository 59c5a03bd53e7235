"""Image references and the pull policy that follows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.image_manager.image_reference import ReferenceInvalid, parse, pull_policy, qualified

SHA = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("image", "full", "policy"),
    [
        ("busybox", "busybox:latest", "Always"),
        ("busybox:latest", "busybox:latest", "Always"),
        ("busybox:1.36", "busybox:1.36", "IfNotPresent"),
        (f"busybox@{SHA}", f"busybox@{SHA}", "IfNotPresent"),
        (f"busybox:1@{SHA}", f"busybox:1@{SHA}", "IfNotPresent"),
        ("127.0.0.1:5000/a/b:v1", "127.0.0.1:5000/a/b:v1", "IfNotPresent"),
        ("localhost:5000/x", "localhost:5000/x:latest", "Always"),
        ("registry.k8s.io/pause:3.9", "registry.k8s.io/pause:3.9", "IfNotPresent"),
        ("[fd00::1]:5000/x:y", "[fd00::1]:5000/x:y", "IfNotPresent"),
    ],
)
def test_a_reference_has_a_tag_and_a_policy(image, full, policy):
    reference = parse(image)
    assert (reference.full, pull_policy("", reference)) == (full, policy)


@pytest.mark.parametrize(
    "image", ["", "Busybox", "a b", "a:b:c", "x@sha256:short", "-a", "a//b", "$(x)", "f" * 64, "a/" * 200 + "b"]
)
def test_a_wrong_image_reference_is_refused(image):
    with pytest.raises(ReferenceInvalid):
        parse(image)


def test_upper_case_is_reported_as_the_error():
    with pytest.raises(ReferenceInvalid, match="must be lowercase"):
        parse("BusyBox")


@given(st.text(max_size=60))
def test_any_text_is_a_reference_or_refused_and_a_full_one_stays(image):
    try:
        reference = parse(image)
    except ReferenceInvalid:
        return
    assert parse(reference.full).full == reference.full


@pytest.mark.parametrize(
    ("image", "why"),
    [
        (f"a@sha256:{'a' * 63}", "invalid checksum digest length"),
        (f"a@sha512:{'a' * 64}", "invalid checksum digest length"),
        (f"a@sha256:{'A' * 64}", "invalid checksum digest format"),
        (f"a:1@md5:{'a' * 32}", "unsupported digest algorithm"),
        ("a" * 256, "repository name must not be more than 255 characters"),
        ("a" * 64, f"invalid repository name ({'a' * 64}), cannot specify 64-byte hexadecimal strings"),
        ("index.docker.io/A", "invalid reference format: repository name (library/A) must be lowercase"),
    ],
)
def test_the_error_says_what_is_wrong_in_the_words_of_the_kubelet(image, why):
    with pytest.raises(ReferenceInvalid) as raised:
        parse(image)
    assert str(raised.value) == f'couldn\'t parse image name "{image}": {why}'


def test_the_registry_does_not_count_for_the_length_of_a_name():
    image = f"registry.example.com/{'a' * 255}"
    assert parse(image).name == image


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("busybox", "docker.io/library/busybox"),
        ("docker.io/busybox", "docker.io/library/busybox"),
        ("index.docker.io/busybox", "docker.io/library/busybox"),
        ("index.docker.io/team/app", "docker.io/team/app"),
        ("registry-1.docker.io/team/app", "registry-1.docker.io/team/app"),
        ("Registry/app", "Registry/app"),
        ("localhost/app", "localhost/app"),
    ],
)
def test_a_name_is_qualified_with_its_registry(name, expected):
    assert qualified(name) == expected


def test_a_given_policy_wins():
    assert pull_policy("Never", parse("busybox")) == "Never"
