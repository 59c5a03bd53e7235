import re
from pathlib import Path

import pytest

from actors.shared.config.errors import ConfigErrors
from actors.shared.config.feature_gate_table import NODE_GATES
from actors.shared.config.fields.kubelet_configuration import API_VERSION, KIND, KubeletConfiguration
from actors.shared.config.sources.documents import Document
from actors.shared.config.sources.effective import effective
from actors.shared.config.validation.rule_kinds import ValidationContext
from actors.shared.config.validation.unsupported import MISSING, MISSING_GATES, REFUSED_GATES, without_effect

pytestmark = pytest.mark.slow

READING = {
    "agent",
    "eviction",
    "kernel_tunables",
    "loading",
    "log_settings",
    "preflight",
    "shutdown_windows",
    "steps",
}
"""Modules of the configuration that act on fields, beside those that only judge them."""
ROOT = Path(__file__).parents[5] / "actors"
SOURCES = {
    path: path.read_text()
    for path in ROOT.rglob("*.py")
    if not path.is_relative_to(ROOT / "shared" / "config") and not path.is_relative_to(ROOT / "config_controller")
}


NEEDS = ROOT / "shared" / "kube" / "declared_features.py"
"""Names the features that pods need, whether or not this agent has them; it asks for no gate by such a name."""


@pytest.mark.parametrize("field", sorted(MISSING))
def test_a_field_listed_as_unsupported_has_no_reader(field: str) -> None:
    readers = [str(path) for path, text in SOURCES.items() if re.search(rf"config\.{field}\b", text)]
    assert readers == [], f"take {field} out of actors/shared/config/validation/unsupported.py"
    assert hasattr(KubeletConfiguration(), field)


@pytest.mark.parametrize("gate", sorted(MISSING_GATES))
def test_a_gate_listed_as_missing_is_off_and_has_no_reader(gate: str) -> None:
    readers = [str(path) for path, text in SOURCES.items() if f'"{gate}"' in text and path != NEEDS]
    assert readers == [], f"take {gate} out of actors/shared/config/validation/unsupported.py"
    assert not NODE_GATES[gate].default


def test_an_enabled_gate_of_a_missing_feature_is_named() -> None:
    (warning,) = without_effect(KubeletConfiguration(featureGates={"NativeHistograms": True, "SELinuxMount": False}))
    assert warning == "accepted without effect: feature gate NativeHistograms (not done here: native histogram)"
    assert without_effect(KubeletConfiguration(featureGates={"NativeHistograms": False})) == []


WITHOUT_READERS = {
    "mergeDefaultEvictionSettings": "the defaults read it",
    "showHiddenMetricsForVersion": "there are no hidden metrics",
    "hairpinMode": "the runtime's business", "iptablesDropBit": "gone", "iptablesMasqueradeBit": "gone",
    "runOnce": "refused", "apiVersion": "validated", "kind": "validated",
}  # fmt: skip


def test_a_field_without_a_reader_is_listed_as_unsupported() -> None:
    texts = [
        *SOURCES.values(),
        *(path.read_text() for path in (ROOT / "shared" / "config").rglob("*.py") if path.stem in READING),
    ]
    unread = {
        field
        for field in KubeletConfiguration.__struct_fields__
        if not any(re.search(rf"\.{field}\b|(config, |switch=)\"{field}\"", text) for text in texts)
    }
    assert unread - set(MISSING) - set(WITHOUT_READERS) == set()


@pytest.mark.parametrize("content_type", ["application/json", "application/vnd.kubernetes.protobuf"])
def test_a_content_type_that_is_spoken_is_not_warned_about(content_type: str) -> None:
    assert without_effect(KubeletConfiguration(contentType=content_type)) == []


def test_a_content_type_that_is_not_spoken_is_warned_about() -> None:
    (warning,) = without_effect(KubeletConfiguration(contentType="application/cbor"))
    assert "contentType (application/json is what the agent uses)" in warning


def test_without_a_content_type_json_is_spoken() -> None:
    assert KubeletConfiguration().contentType == "application/json"


def test_one_warning_names_all_that_has_no_effect() -> None:
    config = KubeletConfiguration(enableContentionProfiling=True, featureGates={"NativeHistograms": True}, maxPods=5)
    (warning,) = without_effect(config)
    assert re.search(
        r"enableContentionProfiling \(not done here: profiling of contention\), feature gate NativeHistograms \(",
        warning,
    )
    assert without_effect(KubeletConfiguration(maxPods=5)) == []


@pytest.mark.parametrize("gate", sorted(REFUSED_GATES))
def test_a_gate_of_a_required_missing_feature_is_refused_with_the_reason(gate: str) -> None:
    assert not NODE_GATES[gate].default
    assert gate not in MISSING_GATES
    data = {"apiVersion": API_VERSION, "kind": KIND, "featureGates": {gate: True}}
    with pytest.raises(ConfigErrors) as errors:
        effective([Document("f", data, {})], {}, ValidationContext(online_cpus=frozenset({0}), cgroup_v2=True))
    (problem,) = errors.value.problems
    assert problem.path == f"featureGates.{gate}"
    assert problem.rule == f"is not supported: {REFUSED_GATES[gate]}"
    data["featureGates"] = {gate: False}
    effective([Document("f", data, {})], {}, ValidationContext(online_cpus=frozenset({0}), cgroup_v2=True))


@pytest.mark.parametrize("gate", sorted(REFUSED_GATES))
def test_all_alpha_gates_together_start_and_what_is_missing_is_named(gate: str) -> None:
    data = {"apiVersion": API_VERSION, "kind": KIND, "featureGates": {"AllAlpha": True, "AllBeta": True}}
    effective([Document("f", data, {})], {}, ValidationContext(online_cpus=frozenset({0}), cgroup_v2=True))
    (warning,) = without_effect(KubeletConfiguration(featureGates={"AllAlpha": True}))
    assert f"feature gate {gate} ({REFUSED_GATES[gate]})" in warning
    off = without_effect(KubeletConfiguration(featureGates={"AllAlpha": True, gate: False}))
    assert gate not in off[0]
