"""The container hash is that of the Go kubelet, so that either adopts the other's containers."""

from __future__ import annotations

from actors.pod_workers.containers.spec_hash import container_hash
from actors.shared.kube.container import Container


def test_the_hash_is_the_kubelets_which_its_own_tests_keep_stable():
    container = Container(name="test_container", image="foo/image:v1", args=["/bin/sh", "-c", "echo abc"])
    assert container_hash(container) == "8e45cbd0"


def test_only_name_and_image_count():
    one, other = Container(name="a", image="i"), Container(name="a", image="i", command=["x"], tty=True)
    assert container_hash(one) == container_hash(other)
    assert container_hash(one) != container_hash(Container(name="a", image="j"))
