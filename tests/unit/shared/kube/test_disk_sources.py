"""What the API requires of iscsi and fc volumes."""

from __future__ import annotations

from typing import Any

import pytest

from actors.shared.kube.disk_sources import FCVolumeSource, ISCSIVolumeSource
from actors.shared.kube.meta import LocalObjectReference
from actors.shared.kube.persistent_volumes import ISCSIPersistentVolumeSource, SecretReference

GOOD: dict[str, Any] = {"targetPortal": "10.0.0.1", "iqn": "iqn.2003-01.org.example:disk"}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"lun": 255, "initiatorName": "eui.0123456789ABCDEF"},
        {"iqn": "naa.0123456789abcdef0123456789ABCDEF"},
        {"chapAuthSession": True, "secretRef": LocalObjectReference(name="s")},
    ],
)
def test_a_disk_of_iscsi_that_the_api_admits_has_no_problem(more):
    assert list(ISCSIVolumeSource(**{**GOOD, **more}).problems()) == []


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"targetPortal": ""}, "targetPortal"),
        ({"iqn": ""}, "iqn"),
        ({"iqn": "2003-01.a:b"}, "iqn"),
        ({"iqn": "iqn.2003-1.a:b"}, "iqn"),
        ({"iqn": "iqn.2003-01.a"}, "iqn"),
        ({"iqn": "iqn.2003-01.a:b c"}, "iqn"),
        ({"iqn": "iqn.2003-01.a:b\n"}, "iqn"),
        ({"iqn": "eui.0123"}, "iqn"),
        ({"iqn": "naa.0123456789abcdef"}, "iqn"),
        ({"lun": -1}, "lun"),
        ({"lun": 256}, "lun"),
        ({"chapAuthDiscovery": True}, "secretRef"),
        ({"chapAuthSession": True}, "secretRef"),
        ({"initiatorName": ""}, "initiatorName"),
        ({"initiatorName": "x"}, "initiatorName"),
    ],
)
def test_the_problem_of_a_disk_of_iscsi_is_found(more, field):
    assert [found for found, _ in ISCSIVolumeSource(**{**GOOD, **more}).problems()] == [field]


def test_a_secret_of_chap_is_an_object_of_the_api():
    source = ISCSIVolumeSource(**GOOD, secretRef=LocalObjectReference(name="s"), readOnly=True)
    assert [(use.kind, use.name, use.mounted) for use in source.objects()] == [("Secret", "s", False)]
    assert list(source.api_fields()) == ["secretRef"]
    assert source.only_read
    assert list(ISCSIVolumeSource(**GOOD).api_fields()) == []
    claimed = ISCSIPersistentVolumeSource(
        **GOOD, chapAuthSession=True, secretRef=SecretReference(namespace="n", name="s")
    )
    assert list(claimed.problems()) == []


@pytest.mark.parametrize(
    ("source", "fields"),
    [
        ({"targetWWNs": ["50060e80"], "lun": 0}, []),
        ({"wwids": ["3600"]}, []),
        ({}, ["targetWWNs"]),
        ({"targetWWNs": ["50060e80"], "lun": 0, "wwids": ["3600"]}, ["targetWWNs"]),
        ({"targetWWNs": ["50060e80"]}, ["lun"]),
        ({"targetWWNs": ["50060e80"], "lun": 256}, ["lun"]),
    ],
)
def test_a_disk_of_fibre_channel_has_names_of_one_kind(source, fields):
    assert [found for found, _ in FCVolumeSource(**source).problems()] == fields
