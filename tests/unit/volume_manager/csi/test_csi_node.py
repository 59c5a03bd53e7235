"""Whose a CSINode is."""

from __future__ import annotations

from actors.volume_manager.csi.csi_node import is_owned, new_csi_node


def test_a_csi_node_belongs_to_the_node_with_the_uid_in_its_owner_reference() -> None:
    found = new_csi_node("n1", "u1")
    assert is_owned(found, "u1")
    assert not is_owned(found, "u2")
    assert not is_owned({"metadata": {"name": "n1"}}, "u1")
