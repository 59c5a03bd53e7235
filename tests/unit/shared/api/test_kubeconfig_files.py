"""The PEM files of a kubeconfig: which are copied into the access, so that their change is one of the kubeconfig."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from actors.shared.api.fields import Fields
from actors.shared.api.kubeconfig_files import KubeconfigFiles

CERTIFICATE, KEY = b"-----BEGIN CERTIFICATE-----", b"-----BEGIN PRIVATE KEY-----"


class Kubeconfig:
    """A kubeconfig in a directory with the files `ca`, `crt` and `key`."""

    def __init__(self, path: Path) -> None:
        self.files = KubeconfigFiles(str(path / "kubelet.conf"))
        self.problems: list[str] = []
        for name, mark in (("ca", CERTIFICATE), ("crt", CERTIFICATE), ("key", KEY)):
            (path / name).write_bytes(mark + name.encode())

    def check(self, mark: bytes, name: str, **given: str) -> bool:
        fields = Fields({field.replace("_", "-"): value for field, value in given.items()}, "user", self.problems)
        return self.files.check_pem(fields, name, mark)


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Kubeconfig:
    return Kubeconfig(tmp_path)


def data_of(content: bytes) -> str:
    return base64.b64encode(content).decode()


def test_the_authorities_are_copied_and_a_pair_of_two_files_is_not(kubeconfig: Kubeconfig) -> None:
    """A certificate and its key are read again for each connection."""
    assert kubeconfig.check(CERTIFICATE, "certificate-authority", certificate_authority="ca")
    assert kubeconfig.check(CERTIFICATE, "client-certificate", client_certificate="crt")
    assert kubeconfig.check(KEY, "client-key", client_key="key")
    assert kubeconfig.files.included() == [CERTIFICATE + b"ca"]
    assert kubeconfig.problems == []


def test_half_a_pair_whose_other_half_is_data_is_copied(kubeconfig: Kubeconfig) -> None:
    assert kubeconfig.check(CERTIFICATE, "client-certificate", client_certificate_data=data_of(CERTIFICATE))
    assert kubeconfig.check(KEY, "client-key", client_key="key")
    assert kubeconfig.files.included() == [KEY + b"key"]


def test_data_goes_before_a_file_and_needs_none(kubeconfig: Kubeconfig) -> None:
    given = {"certificate_authority_data": data_of(CERTIFICATE), "certificate_authority": "missing"}
    assert kubeconfig.check(CERTIFICATE, "certificate-authority", **given)
    assert (kubeconfig.files.included(), kubeconfig.problems) == ([], [])


def test_what_is_not_given_is_no_problem(kubeconfig: Kubeconfig) -> None:
    assert not kubeconfig.check(CERTIFICATE, "client-certificate")
    assert kubeconfig.problems == []


def test_what_cannot_be_read_or_is_not_pem_is_named_with_its_field_and_file(
    kubeconfig: Kubeconfig, tmp_path: Path
) -> None:
    (tmp_path / "crt").write_bytes(KEY)
    kubeconfig.check(CERTIFICATE, "client-certificate", client_certificate="crt")
    kubeconfig.check(KEY, "client-key", client_key="../nowhere")
    kubeconfig.check(CERTIFICATE, "certificate-authority", certificate_authority_data="!")
    kubeconfig.check(CERTIFICATE, "certificate-authority", certificate_authority_data=data_of(b"x"))
    assert kubeconfig.problems == [
        f"user.client-certificate: {tmp_path}/crt: not PEM: it has no CERTIFICATE",
        f"user.client-key: {tmp_path.parent}/nowhere: No such file or directory",
        "user.certificate-authority-data: not base64",
        "user.certificate-authority-data: not PEM: it has no CERTIFICATE",
    ]


def test_a_plugin_is_a_path_beside_the_kubeconfig_or_a_name_in_path(kubeconfig: Kubeconfig, tmp_path: Path) -> None:
    assert kubeconfig.files.command("plugin") == "plugin"
    assert kubeconfig.files.command("./bin/plugin") == f"{tmp_path}/bin/plugin"
    assert kubeconfig.files.command("/usr/bin/plugin") == "/usr/bin/plugin"
