"""Masks of NUMA nodes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actors.shared.hardware.hints import mask_of, masks_of, nodes_of


@given(st.frozensets(st.integers(0, 63)))
def test_a_mask_names_its_nodes(nodes):
    assert nodes_of(mask_of(nodes)) == tuple(sorted(nodes))


def test_masks_of_fewer_nodes_come_first_and_each_comes_once():
    assert list(masks_of([0, 1, 3])) == [0b1, 0b10, 0b1000, 0b11, 0b1001, 0b1010, 0b1011]
    assert list(masks_of([])) == []
