"""How /configz writes a configuration."""

from __future__ import annotations

import pytest

from actors.shared.config.fields.duration import Duration
from actors.shared.config.fields.groups import (
    FormatOptions,
    Logging,
    LoggingOptions,
    MemoryReservation,
    PriorityGracePeriod,
    Taint,
    Tracing,
)
from actors.shared.config.fields.kubelet_configuration import KubeletConfiguration
from actors.shared.config.sources.configz import ZERO_IS_LEFT_OUT, written
from actors.shared.config.validation.rule_kinds import value_at


def test_a_zero_that_is_unset_to_the_api_is_omitted():
    shown = set(written(KubeletConfiguration()))
    assert not {"readOnlyPort", "podsPerCore", "protectKernelDefaults", "runOnce", "evictionMaxPodGracePeriod"} & shown
    assert written(KubeletConfiguration(readOnlyPort=10255))["readOnlyPort"] == 10255


def test_a_zero_of_a_pointer_field_is_shown():
    plain = written(KubeletConfiguration(failSwapOn=False, healthzPort=0))
    assert (plain["failSwapOn"], plain["healthzPort"], plain["enableSystemLogQuery"]) == (False, 0, False)
    assert written(KubeletConfiguration(resolvConf=""))["resolvConf"] == ""


def test_a_duration_is_shown_as_go_writes_it_whether_or_not_it_is_zero():
    plain = written(KubeletConfiguration(syncFrequency=Duration(90)))
    assert (plain["syncFrequency"], plain["shutdownGracePeriod"]) == ("1m30s", "0s")


def test_an_object_without_fields_stays_and_what_is_not_set_does_not():
    plain = written(KubeletConfiguration())
    assert (plain["memorySwap"], plain["authentication"]["x509"]) == ({}, {})
    assert plain["logging"]["options"] == {"text": {"infoBufferSize": "0"}, "json": {"infoBufferSize": "0"}}
    assert not {"tracing", "staticPodPath", "evictionSoft", "maxParallelImagePulls", "userNamespaces"} & set(plain)
    assert written(KubeletConfiguration(tracing=Tracing()))["tracing"] == {}


def test_a_quantity_that_is_written_as_a_number_is_shown_as_text():
    config = KubeletConfiguration(
        kubeReserved={"cpu": 1, "memory": "1Gi"},
        reservedMemory=[MemoryReservation(0, {"memory": 1 << 30})],
        logging=Logging(options=LoggingOptions(json=FormatOptions(infoBufferSize=4096))),
    )
    plain = written(config)
    assert plain["kubeReserved"] == {"cpu": "1", "memory": "1Gi"}
    assert plain["reservedMemory"] == [{"numaNode": 0, "limits": {"memory": "1073741824"}}]
    assert plain["logging"]["options"]["json"] == {"infoBufferSize": "4096"}


def test_objects_in_lists_have_their_numbers_and_no_empty_texts():
    steps = [PriorityGracePeriod(priority=0, shutdownGracePeriodSeconds=10)]
    plain = written(
        KubeletConfiguration(
            registerWithTaints=[Taint(key="a", effect="NoSchedule")], shutdownGracePeriodByPodPriority=steps
        )
    )
    assert plain["registerWithTaints"] == [{"key": "a", "effect": "NoSchedule"}]
    assert plain["shutdownGracePeriodByPodPriority"] == [{"priority": 0, "shutdownGracePeriodSeconds": 10}]


@pytest.mark.parametrize("path", sorted(ZERO_IS_LEFT_OUT))
def test_each_zero_that_is_left_out_is_a_field_whose_default_it_is(path):
    assert value_at(KubeletConfiguration(logging=Logging()), path) in (0, False)
