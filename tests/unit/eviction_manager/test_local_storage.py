"""Limits of a pod's local storage."""

from typing import Any

import pytest

from actors.eviction_manager.local_storage import is_limited, violation
from actors.eviction_manager.resources import DiskLayout
from actors.eviction_manager.usage import ContainerUsage, DiskUsage, PodUsage, used_of

from .pods import active, container

MI = 1 << 20
SINGLE = DiskLayout.SINGLE


def volume(name="cache", **source):
    return {"name": name, "emptyDir": source}


LIMITED: dict[str, Any] = {"limits": {"ephemeral-storage": "10Mi"}}


def used(*, rootfs=0, logs=0, cache=0, own=0):
    return PodUsage(
        containers={"main": ContainerUsage(rootfs=DiskUsage(rootfs), logs=DiskUsage(logs))},
        volumes={"cache": DiskUsage(cache)},
        own=DiskUsage(own),
    )


@pytest.mark.parametrize(("disk", "expected"), [("nodefs.available", 9), ("imagefs.available", 1)])
def test_what_a_pod_writes_to_the_files_of_the_agent_counts_on_the_disk_of_the_node(disk, expected):
    pod = active(volumes=[volume()]).pod
    assert used_of(disk, pod, used(rootfs=1, logs=2, cache=3, own=4), DiskLayout.DEDICATED) == expected


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


@pytest.mark.parametrize(("restart", "signal"), [("Always", "ephemeralcontainerfs.limit"), (None, None)])
def test_a_sidecar_over_its_own_limit_is_a_violation(restart, signal):
    limits = {"ephemeral-storage": "1Mi"}
    one = {**container("main", limits=limits), **({"restartPolicy": restart} if restart else {})}
    broken = violation(active(container("other", **LIMITED), initContainers=[one]).pod, used(logs=2 * MI), SINGLE)
    assert (broken.signal if broken else None) == signal


@pytest.mark.parametrize(
    ("layout", "signal"),
    [
        (DiskLayout.SINGLE, "ephemeralcontainerfs.limit"),
        (DiskLayout.DEDICATED, None),
        (DiskLayout.SPLIT, None),
    ],
)
def test_writable_layers_count_against_a_containers_limit_where_all_disks_are_one(layout, signal):
    pod = active(container(**LIMITED), container("other", **LIMITED)).pod
    broken = violation(pod, used(rootfs=11 * MI), layout)
    assert (broken.signal if broken else None) == signal


@pytest.mark.parametrize("layout", DiskLayout)
def test_writable_layers_count_against_the_pods_limit_whichever_disk_they_are_on(layout):
    broken = violation(active(container(**LIMITED)).pod, used(rootfs=11 * MI), layout)
    assert broken is not None
    assert broken.signal == "ephemeralpodfs.limit"


def test_a_limit_of_zero_counts_for_the_pod_only():
    none: dict[str, Any] = {"limits": {"ephemeral-storage": "0"}}
    assert violation(active(container(**none), container("other", **LIMITED)).pod, used(logs=MI), SINGLE) is None
    broken = violation(active(container(**none)).pod, used(logs=1), SINGLE)
    assert broken is not None
    assert broken.signal == "ephemeralpodfs.limit"


@pytest.mark.parametrize(
    ("pod", "limit"),
    [
        (active(container(**LIMITED), overhead={"ephemeral-storage": "2Mi"}), 12),
        (active(container(), overhead={"ephemeral-storage": "2Mi"}), None),
        (active(container(**LIMITED), initContainers=[container("init", limits={"ephemeral-storage": "30Mi"})]), 30),
        (
            active(
                container(**LIMITED),
                initContainers=[
                    {**container("sidecar", limits={"ephemeral-storage": "7Mi"}), "restartPolicy": "Always"},
                    container("init", **LIMITED),
                    container("later", limits={"ephemeral-storage": "15Mi"}),
                ],
            ),
            22,
        ),
    ],
)
def test_the_pods_limit_has_the_overhead_and_what_runs_at_the_same_time(pod, limit):
    at, above = (violation(pod.pod, used(cache=0, own=(limit or 900) * MI + more), SINGLE) for more in (0, 1))
    assert at is None
    assert (above is None) is (limit is None)


@pytest.mark.parametrize(("medium", "counts"), [("", True), ("Memory", False), ("HugePages", False)])
def test_only_volumes_on_the_disk_count_against_the_pods_limit(medium, counts):
    pod = active(container(**LIMITED), volumes=[volume(medium=medium)]).pod
    assert (violation(pod, used(cache=11 * MI), SINGLE) is not None) is counts


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
