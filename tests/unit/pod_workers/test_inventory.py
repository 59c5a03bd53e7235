"""The runtime's pods that wait until it is known who wants them."""

from __future__ import annotations

from actors.pod_workers.inventory import ShardInventory
from actors.shared.cri.model import CriContainer, CriContainerState, PodRuntime, Sandbox

BOX = Sandbox(id="s", pod_uid="u", pod_name="p", pod_namespace="n")
LEFT = CriContainer(id="c", name="a", pod_uid="v", state=CriContainerState.EXITED)


def test_the_inventory_is_complete_once_the_sources_and_the_pleg_have_reported() -> None:
    by_sources, by_pleg = ShardInventory(), ShardInventory()
    by_sources.sources_reported()
    by_pleg.runtime_listed(())
    assert (by_sources.complete, by_pleg.complete) == (False, False)
    by_sources.runtime_listed(())
    by_pleg.sources_reported()
    assert (by_sources.complete, by_pleg.complete) == (True, True)


def test_pods_of_the_runtime_are_kept_until_the_sources_have_reported() -> None:
    inventory = ShardInventory()
    sandbox, containers = PodRuntime(uid="u", sandboxes=[BOX]), PodRuntime(uid="v", containers=[LEFT])
    gone = PodRuntime(uid="w", sandboxes=[BOX])
    assert all(map(inventory.claims, (sandbox, containers, gone)))
    assert inventory.claims(PodRuntime(uid="w")), "it has gone meanwhile"
    assert inventory.sources_reported() == [sandbox, containers]
    assert inventory.sources_reported() == []
    assert not inventory.claims(sandbox), "from now on it is known who wants it"
    assert inventory.claims(PodRuntime(uid="u"))


def test_a_pod_that_is_known_by_uid_only_is_unread_until_the_pleg_reports_it() -> None:
    inventory = ShardInventory()
    inventory.runtime_listed(("u", "v"))
    inventory.read("u")
    inventory.read("other")
    assert inventory.unread == {"v"}
    inventory.runtime_listed(("w",))
    assert inventory.unread == {"w"}
