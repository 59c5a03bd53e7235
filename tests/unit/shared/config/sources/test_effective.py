"""Precedence: defaults < file < drop-ins < flags, a row for each way a value can come about."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.shared.config.errors import ConfigErrors
from actors.shared.config.fields.kubelet_configuration import DEFAULT_EVICTION_HARD, KubeletConfiguration
from actors.shared.config.flags.parsing import parse
from actors.shared.config.sources.defaults import ZERO_IS_UNSET
from actors.shared.config.sources.documents import Document
from actors.shared.config.sources.effective import effective, from_json, lookup, shown_source, to_json, to_plain
from actors.shared.config.sources.merge_patch import merge_patch, put
from actors.shared.config.validation.rule_kinds import ValidationContext, value_at

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-10, 10) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


def test_unknown_fields_are_refused_and_with_the_lenient_switch_ignored_with_a_warning_each():
    document = Document("f", {"maxPods": 5, "maxPod": 6, "logging": {"verbose": 1}}, {"maxPod": 3})
    with pytest.raises(ConfigErrors) as refused:
        effective([document], {}, ValidationContext())
    assert [problem.path for problem in refused.value.problems] == ["maxPod", "logging.verbose"]
    found = effective([document], {}, ValidationContext(), lenient=True)
    assert found.config.maxPods == 5
    assert found.warnings[:2] == (
        "maxPod is ignored: unknown field, did you mean maxPods? (f:3)",
        "logging.verbose is ignored: unknown field, did you mean verbosity? (f)",
    )


def test_an_unknown_object_is_named_with_the_line_of_its_first_field():
    data = {"authentication": {"anonymus": {"enabled": True}}, "maxPods": 5}
    document = Document("f", data, {"authentication.anonymus.enabled": 8, "maxPods": 9})
    with pytest.raises(ConfigErrors) as refused:
        effective([document], {}, ValidationContext())
    assert str(refused.value) == "authentication.anonymus: unknown field, did you mean anonymous? (from f:8)"


def setting(path, value):
    data: dict[str, Any] = {}
    put(data, path, value)
    return data


def made(*documents, flags=()):
    layers = [Document(f"layer{index}", data, {}) for index, data in enumerate(documents)]
    return effective(layers, parse(list(flags)).values, ValidationContext())


@pytest.mark.parametrize(
    ("documents", "flags", "field", "value", "source"),
    [
        ([], [], "maxPods", 110, "default"),
        ([{"maxPods": 5}], [], "maxPods", 5, "layer0"),
        ([{"maxPods": 5}, {"maxPods": 6}], [], "maxPods", 6, "layer1"),
        ([{}, {"maxPods": 6}, {"maxPods": 7}], [], "maxPods", 7, "layer2"),
        ([{"maxPods": 5}, {"maxPods": 6}], ["--max-pods=8"], "maxPods", 8, "--max-pods"),
        ([{"maxPods": 5}, {"maxPods": None}], [], "maxPods", 110, "layer1"),
        ([{"maxPods": None}], [], "maxPods", 110, "default"),
        ([{"clusterDNS": ["10.0.0.1", "10.0.0.2"]},
        {"clusterDNS": ["10.0.0.3"]}], [], "clusterDNS", ["10.0.0.3"], "layer1"),
        ([{"featureGates": {"EventedPLEG": True}}, {"featureGates": {"PodsAPI": True}}],
         ["--feature-gates=EventedPLEG=false"], "featureGates", {"EventedPLEG": False, "PodsAPI": True}, "default"),
        ([{"authentication": {"webhook": {"enabled": False}}}], ["--anonymous-auth"], "authentication.webhook.enabled",
         False, "layer0"),
        ([{"authentication": {"webhook": {"enabled": False}}}], ["--anonymous-auth"],
        "authentication.anonymous.enabled",
         True, "--anonymous-auth"),
        ([{"evictionHard": {"memory.available": "1Gi"}}], [], "evictionHard", {"memory.available": "1Gi"}, "default"),
        ([], ["--eviction-hard=memory.available<1Gi"], "evictionHard", {"memory.available": "1Gi"}, "--eviction-hard"),
        ([{"evictionHard": {"memory.available": "1Gi"}}], ["--eviction-hard=pid.available<5%"], "evictionHard",
         {"pid.available": "5%"}, "--eviction-hard"),
        ([{"evictionHard": {"memory.available": "1Gi"}, "mergeDefaultEvictionSettings": True}], [], "evictionHard",
         {**DEFAULT_EVICTION_HARD, "memory.available": "1Gi"}, "default"),
        ([{}, {"evictionHard": {"memory.available": "1Gi"}}], [], "evictionHard",
         {**DEFAULT_EVICTION_HARD, "memory.available": "1Gi"}, "default"),
        ([{"evictionHard": {}}], [], "evictionHard", {}, "layer0"),
        ([{}, {"evictionHard": None}], [], "evictionHard", DEFAULT_EVICTION_HARD, "layer1"),
        ([{"serializeImagePulls": None, "maxParallelImagePulls": 3}], [], "serializeImagePulls", False,
         "default, because maxParallelImagePulls is above 1"),
        ([{"nodeStatusUpdateFrequency": "20s"}], [], "nodeStatusReportFrequency", 20.0, "default"),
        ([{"nodeStatusUpdateFrequency": "20s", "nodeStatusReportFrequency": "1m"}], [],
        "nodeStatusReportFrequency", 60.0,
         "layer0"),
        ([{}, {"nodeStatusUpdateFrequency": "20s"}], [], "nodeStatusReportFrequency", 300.0, "default"),
        ([{"nodeStatusUpdateFrequency": "20s"}, {"nodeStatusUpdateFrequency": "30s"}], [], "nodeStatusReportFrequency",
         20.0, "default"),
        ([{"nodeStatusUpdateFrequency": "0s"}, {"nodeStatusUpdateFrequency": "30s"}], [], "nodeStatusReportFrequency",
         300.0, "default"),
        ([{"nodeStatusUpdateFrequency": "20s"}, {"nodeStatusReportFrequency": None}], [], "nodeStatusReportFrequency",
         20.0, "layer1"),
        ([{}, {"nodeStatusReportFrequency": "40s"}], [], "nodeStatusReportFrequency", 40.0, "layer1"),
        ([{}], ["--node-status-update-frequency=20s"], "nodeStatusReportFrequency", 300.0, "default"),
        ([{"podPidsLimit": -7}], [], "podPidsLimit", -1, "any negative limit is -1"),
        ([], ["--eviction-pressure-transition-period=0"], "evictionPressureTransitionPeriod", 300.0, "0s is 5m0s"),
        ([{"logging": {"flushFrequency": 3_000_000_000}}], [], "logging.flushFrequency", 3.0, "layer0"),
        ([{"failSwapOn": False, "healthzPort": 0, "oomScoreAdj": 0, "registryPullQPS": 0}], [],
        "registryPullQPS", 0, "layer0"),
        ([{"resolvConf": ""}], [], "resolvConf", "", "layer0"),
        ([{"maxPods": 0}], [], "maxPods", 110, "layer0"),
        ([{"maxPods": 7}], ["--max-pods=0"], "maxPods", 0, "--max-pods"),
        ([{"featureGates": {"KubeletCrashLoopBackOffMax": False}}], [],
        "crashLoopBackOff.maxContainerRestartPeriod", None,
         "default without KubeletCrashLoopBackOffMax"),
    ],
)  # fmt: skip
def test_the_later_layer_wins_and_is_named(documents, flags, field, value, source):
    result = made(*documents, flags=flags)
    assert value_at(result.config, field) == value
    assert lookup(result.sources, field) == source


@pytest.mark.parametrize("field", ZERO_IS_UNSET)
def test_the_zero_of_a_field_that_is_no_pointer_means_its_default(field):
    default = value_at(KubeletConfiguration(), field)
    zero = {str: "", int: 0}.get(type(default), "0s")
    assert default
    assert value_at(made(setting(field, zero)).config, field) == default


@pytest.mark.parametrize("field", ["hairpinMode", "topologyManagerPolicy", "syncFrequency"])
def test_a_zero_of_another_type_is_not_the_default(field):
    other = "" if field == "syncFrequency" else "0"
    with pytest.raises(ConfigErrors, match=field):
        made(setting(field, other))


def test_the_order_of_sources_holds_for_each_gate_alone():
    sources = made({"featureGates": {"PodsAPI": True}}, flags=["--feature-gates=EventedPLEG=true"]).sources
    assert lookup(sources, "featureGates.PodsAPI") == "layer0"
    assert lookup(sources, "featureGates.EventedPLEG") == "--feature-gates"
    both = {"PodsAPI": True, "EventedPLEG": True}
    assert shown_source(sources, "featureGates", both) == "layer0, --feature-gates"


def test_a_map_and_a_list_as_a_whole_have_the_sources_of_their_parts():
    taint = {"key": "a", "effect": "NoSchedule"}
    result = made({}, {"evictionHard": {"memory.available": "5%"}, "registerWithTaints": [taint]})
    config, sources = result.config, result.sources
    assert shown_source(sources, "evictionHard", config.evictionHard) == "layer1, default"
    assert shown_source(sources, "registerWithTaints", config.registerWithTaints) == "layer1"
    assert shown_source(sources, "evictionSoft", config.evictionSoft) == "default"
    assert shown_source(sources, "maxPods", config.maxPods) == "default"


def test_insecure_settings_are_warned_about():
    warnings = made(flags=["--anonymous-auth", "--authorization-mode=AlwaysAllow", "--read-only-port=10255"]).warnings
    assert [line.partition(":")[0] for line in warnings] == [
        "authentication.anonymous.enabled",
        "authorization.mode",
        "readOnlyPort",
    ]


def test_a_node_without_an_attach_controller_is_warned_about():
    (warning,) = made({"enableControllerAttachDetach": False}).warnings
    assert "pods wait for those of CSI drivers that must be attached" in warning


def test_a_field_of_an_old_release_is_passed_over_with_a_warning():
    assert made({"logging": {"sanitization": False}}).warnings == (
        "logging.sanitization is ignored: log sanitization was removed in 1.24",
    )


@given(JSON, JSON)
def test_merging_the_same_patch_twice_changes_nothing_more(target, patch):
    once = merge_patch(target, patch)
    assert merge_patch(once, patch) == once


@given(st.dictionaries(st.sampled_from(KubeletConfiguration.__struct_fields__), JSON, max_size=6))
def test_no_document_makes_it_fail_otherwise_than_by_its_own_error(data):
    try:
        result = made(data, data)
    except ConfigErrors as error:
        result = error
    assert isinstance(result, ConfigErrors) == hasattr(result, "problems")


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "maxPods": st.integers(0, 500),
            "syncFrequency": st.integers(1, 1 << 60).map(lambda n: f"{n}ns"),
            "clusterDNS": st.lists(st.ip_addresses().map(str), max_size=3),
            "tracing": st.fixed_dictionaries({}, optional={"samplingRatePerMillion": st.integers(0, 1_000_000)}),
            "memoryThrottlingFactor": st.floats(0.01, 1),
            "reservedMemory": st.lists(st.just({"numaNode": 1, "limits": {"memory": "1Gi"}}), max_size=1),
        },
    )
)
def test_a_written_configuration_is_read_unchanged(data):
    config = made(data).config
    assert from_json(to_json(config)) == config


def test_durations_are_shown_as_go_writes_them_and_what_is_unset_is_left_out():
    plain = to_plain(made({"syncFrequency": "90s", "maxPods": 4}).config)
    assert (plain["syncFrequency"], plain["maxPods"], plain["readOnlyPort"]) == ("1m30s", 4, 0)
    assert not {"tracing", "staticPodPath", "evictionSoft", "maxParallelImagePulls"} & plain.keys()


def test_damaged_bytes_are_refused_when_a_configuration_is_read_back():
    for raw in (b"", b"{", b"[]", b'{"maxPods": "x"}', b"[" * 100_000):
        with pytest.raises(ConfigErrors):
            from_json(raw)
