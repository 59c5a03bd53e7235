"""Limits of a pod's local storage."""

from typing import Any

import pytest

from actors.eviction_manager.local_storage import is_limited, violation
from actors.eviction_manager.resources import DiskLayout
from actors.eviction_manager.usage import ContainerUsage, DiskUsage, PodUsage

from .pods import active, container

MI = 1 << 20


def volume(name="cache", **source):
    return {"name": name, "emptyDir": source}


LIMITED: dict[str, Any] = {"limits": {"ephemeral-storage": "10Mi"}}


def used(*, rootfs=0, logs=0, cache=0, own=0):
    return PodUsage(
        containers={"main": ContainerUsage(rootfs=DiskUsage(rootfs), logs=DiskUsage(logs))},
        volumes={"cache": DiskUsage(cache)},
        own=DiskUsage(own),
    )


@pytest.mark.parametrize(
    ("limit", "size", "message"),
    [
        ("1Mi", MI, None),
        ("1Mi", MI + 1, 'Usage of EmptyDir volume "cache" exceeds the limit "1Mi". '),
        ("1M", 10**6 + 1, 'Usage of EmptyDir volume "cache" exceeds the limit "1M". '),
        ("1024M", 1024 * 10**6 + 1, 'Usage of EmptyDir volume "cache" exceeds the limit "1024M". '),
        ("0.5Gi", 1 << 30, 'Usage of EmptyDir volume "cache" exceeds the limit "512Mi". '),
        ("0", 5 * MI, None),
        (None, 5 * MI, None),
    ],
)
def test_an_empty_dir_over_its_size_limit_is_a_violation(limit, size, message):
    pod = active(volumes=[volume(sizeLimit=limit)]).pod
    broken = violation(pod, used(cache=size), DiskLayout.SINGLE)
    assert (broken.message if broken else None) == message
    assert broken is None or broken.signal == "emptydirfs.limit"


def test_memory_of_an_empty_dir_counts_against_its_own_limit_only():
    pod = active(container(**LIMITED), volumes=[volume(medium="Memory", sizeLimit="50Mi")]).pod
    assert violation(pod, used(cache=20 * MI), DiskLayout.SINGLE) is None
    broken = violation(pod, used(cache=51 * MI), DiskLayout.SINGLE)
    assert broken is not None
    assert broken.signal == "emptydirfs.limit"


def test_a_pod_over_the_sum_of_its_containers_limits_is_a_violation():
    pod = active(container(**LIMITED), container("other", **LIMITED), volumes=[volume()]).pod
    assert violation(pod, used(rootfs=5 * MI, logs=5 * MI, cache=10 * MI), DiskLayout.SINGLE) is None
    broken = violation(pod, used(rootfs=5 * MI, logs=5 * MI, cache=10 * MI, own=1), DiskLayout.SINGLE)
    assert broken is not None
    assert (broken.signal, broken.message) == (
        "ephemeralpodfs.limit",
        "Pod ephemeral local storage usage exceeds the total limit of containers 20Mi. ",
    )


def test_a_sum_of_limits_is_printed_as_its_first_one():
    limits: list[dict[str, Any]] = [{"limits": {"ephemeral-storage": limit}} for limit in ("512M", "512000Ki")]
    pod = active(container(**limits[0]), container("other", **limits[1]), volumes=[volume()]).pod
    broken = violation(pod, used(cache=2000 * MI), DiskLayout.SINGLE)
    assert broken is not None
    assert broken.message.endswith(" the total limit of containers 1036288k. ")


def test_a_container_over_its_own_limit_is_a_violation():
    pod = active(container(**LIMITED), container("other", **LIMITED)).pod
    assert violation(pod, used(rootfs=5 * MI, logs=5 * MI), DiskLayout.SINGLE) is None
    broken = violation(pod, used(rootfs=5 * MI, logs=5 * MI + 1), DiskLayout.SINGLE)
    assert broken is not None
    assert (broken.signal, broken.message) == (
        "ephemeralcontainerfs.limit",
        'Container main exceeded its local ephemeral storage limit "10Mi". ',
    )


def test_writable_layers_on_a_disk_of_their_own_count_against_no_limit():
    pod = active(container(**LIMITED)).pod
    assert violation(pod, used(rootfs=500 * MI), DiskLayout.DEDICATED) is None
    broken = violation(pod, used(rootfs=500 * MI), DiskLayout.SPLIT)
    assert broken is not None
    assert broken.signal == "ephemeralpodfs.limit"


@pytest.mark.parametrize(
    ("pod", "limited"),
    [
        (active(), False),
        (active(volumes=[volume()]), False),
        (active(volumes=[volume(sizeLimit="0")]), False),
        (active(volumes=[volume(sizeLimit="1")]), True),
        (active(container(**LIMITED)), True),
        (active(initContainers=[container("i", **LIMITED)]), True),
        (active(container(requests={"ephemeral-storage": "1"})), False),
    ],
)
def test_only_pods_with_limits_are_measured(pod, limited):
    assert is_limited(pod.pod) is limited
