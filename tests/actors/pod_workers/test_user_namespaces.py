"""A shard on a fake runtime: pods with `hostUsers: false`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from actors.container_manager.messages import GiveUserNamespace, UserNamespaceGiven, UserNamespaceRefused
from proto import cri_pb2 as cri
from tests.support.shard_harness import Driven, pod

SIZE = 65536


def node_of(tmp_path: Path, *, able: bool = True) -> Driven:
    node = Driven(tmp_path)
    node.fake.user_namespaces = able
    node.answer(GiveUserNamespace, lambda question: UserNamespaceGiven(question.uid, 2 * SIZE, SIZE))
    return node


def mapping(namespace: cri.UserNamespace) -> tuple[object, list[tuple[int, int, int]], bool]:
    uids = [(one.host_id, one.container_id, one.length) for one in namespace.uids]
    return namespace.mode, uids, list(namespace.uids) == list(namespace.gids)


async def test_a_pod_with_a_user_namespace_has_its_ids_in_sandbox_container_and_mounts(tmp_path: Path) -> None:
    async with node_of(tmp_path) as node:
        await node.want(pod(hostUsers=False))
        await node.until(lambda: node.running("a"))
        (sandbox,) = node.fake.requests_for("RunPodSandbox")
        (created,) = node.fake.requests_for("CreateContainer")
        own = (cri.POD, [(2 * SIZE, 0, SIZE)], True)
        assert mapping(sandbox.config.linux.security_context.namespace_options.userns_options) == own
        assert mapping(created.config.linux.security_context.namespace_options.userns_options) == own
        assert created.sandbox_config == sandbox.config
        assert created.config.mounts
        for mount in created.config.mounts:
            assert [(one.host_id, one.length) for one in mount.uidMappings] == [(2 * SIZE, SIZE)]
            assert list(mount.gidMappings) == list(mount.uidMappings)


@pytest.mark.parametrize("spec", [{}, {"hostUsers": True}])
async def test_other_pods_are_in_the_nodes_namespace_and_take_no_ids(tmp_path: Path, spec: dict[str, Any]) -> None:
    async with node_of(tmp_path, able=False) as node:
        await node.want(pod(**spec))
        await node.until(lambda: node.running("a"))
        (created,) = node.fake.requests_for("CreateContainer")
        assert mapping(created.config.linux.security_context.namespace_options.userns_options) == (cri.NODE, [], True)
        assert not any(mount.uidMappings for mount in created.config.mounts)
        assert node.harness.sent(GiveUserNamespace) == []


async def test_a_runtime_without_user_namespaces_is_named_and_nothing_is_made(tmp_path: Path) -> None:
    async with node_of(tmp_path, able=False) as node:
        await node.want(pod(hostUsers=False))
        await node.until(lambda: "FailedCreatePodSandBox" in dict(node.events()))
        assert dict(node.events())["FailedCreatePodSandBox"] == (
            "Failed to create pod sandbox: can't set `spec.hostUsers: false`, runtime does not support user namespaces"
        )
        assert node.count_of("RunPodSandbox") == 0
        assert node.harness.sent(GiveUserNamespace) == []


async def test_a_pod_without_ids_waits_and_starts_once_there_are_some(tmp_path: Path) -> None:
    async with node_of(tmp_path) as node:
        node.answer(GiveUserNamespace, lambda question: UserNamespaceRefused(question.uid, "none is free"))
        await node.want(pod(hostUsers=False))
        await node.until(lambda: "FailedCreatePodSandBox" in dict(node.events()))
        assert dict(node.events())["FailedCreatePodSandBox"].endswith("no IDs for its user namespace: none is free")
        node.answer(GiveUserNamespace, lambda question: UserNamespaceGiven(question.uid, SIZE, SIZE))
        await node.pass_time(20)
        await node.until(lambda: node.running("a"))
