"""The options of the static CPU policy."""

from __future__ import annotations

import msgspec
import pytest

from actors.container_manager.cpu.options import CpuOptions, options_of

FIELD_OF = {
    "full-pcpus-only": "full_cores",
    "strict-cpu-reservation": "strict_reservation",
    "prefer-align-cpus-by-uncorecache": "by_cache",
    "distribute-cpus-across-numa": "across_nodes",
    "align-by-socket": "by_socket",
    "distribute-cpus-across-cores": "across_cores",
}


@pytest.mark.parametrize(("option", "field"), FIELD_OF.items())
def test_each_option_turns_on_what_it_names_and_nothing_else(option: str, field: str) -> None:
    assert options_of({option: "true"}) == msgspec.structs.replace(CpuOptions(), **{field: True})
    assert options_of({option: "1"}) == options_of({option: "true"})
    assert options_of({option: "false"}) == options_of({}) == CpuOptions()
