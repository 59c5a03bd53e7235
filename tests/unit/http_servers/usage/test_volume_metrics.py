"""How full claims are, as series of /metrics."""

from types import SimpleNamespace

from actors.http_servers.usage.volume_metrics import samples
from actors.shared.cri.model import Sandbox
from actors.shared.stats.disk import has_claims


def pod(uid, namespace="n"):
    return SimpleNamespace(sandbox=Sandbox(id=f"s{uid}", pod_uid=uid, pod_name=f"p{uid}", pod_namespace=namespace))


def sample(*pods, **disks):
    return SimpleNamespace(pods=pods, disks={uid: {"volumes": volumes} for uid, volumes in disks.items()})


def test_a_claim_of_two_pods_is_one_series_and_a_volume_without_one_is_none():
    data = {"claim": "data", "capacity_bytes": 10, "used_bytes": 4}
    disks = {"a": {"v": data, "scratch": {"used_bytes": 1}}, "b": {"v": data}, "c": {"v": {**data, "used_bytes": 5}}}
    found = samples(sample(pod("a"), pod("b"), pod("c", "m"), **disks))
    assert [(one.name, one.labels, one.value) for one in found] == [
        ("kubelet_volume_stats_capacity_bytes", {"namespace": "m", "persistentvolumeclaim": "data"}, 10),
        ("kubelet_volume_stats_used_bytes", {"namespace": "m", "persistentvolumeclaim": "data"}, 5),
        ("kubelet_volume_stats_capacity_bytes", {"namespace": "n", "persistentvolumeclaim": "data"}, 10),
        ("kubelet_volume_stats_used_bytes", {"namespace": "n", "persistentvolumeclaim": "data"}, 4),
    ]


def test_nothing_is_reported_while_the_disks_are_not_measured():
    assert list(samples(sample(pod("a")))) == []


def test_the_health_of_a_volume_is_a_series_where_its_driver_reports_it():
    disks = {"a": {"v": {"claim": "bad", "abnormal": True}, "w": {"claim": "good", "abnormal": False}}}
    found = samples(sample(pod("a"), **disks))
    assert [(one.name, one.labels["persistentvolumeclaim"], one.value) for one in found] == [
        ("kubelet_volume_stats_health_status_abnormal", "bad", 1),
        ("kubelet_volume_stats_health_status_abnormal", "good", 0),
    ]


def test_claims_are_there_once_a_pod_has_the_volume_of_one(tmp_path):
    assert not has_claims(str(tmp_path / "pods"))
    (tmp_path / "pods/u/plugins").mkdir(parents=True)
    assert not has_claims(str(tmp_path / "pods"))
    (tmp_path / "pods/u/plugins/persistent_volumes.json").write_text("{}")
    assert has_claims(str(tmp_path / "pods"))
