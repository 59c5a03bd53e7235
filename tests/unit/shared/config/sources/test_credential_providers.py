"""CredentialProviderConfig: what is read, and everything that is wrong with it at once."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from actors.shared.config.errors import ConfigErrors
from actors.shared.config.loading import load as load_agent
from actors.shared.config.sources.credential_providers import API_VERSIONS, check, digest, is_pattern, load

GOOD = {
    "name": "plug",
    "matchImages": ["*.example.com:5000/team", "registry.io"],
    "defaultCacheDuration": "12h",
    "apiVersion": API_VERSIONS[0],
    "args": ["get"],
    "env": [{"name": "A", "value": "1"}],
}


@pytest.fixture
def bin_dir(tmp_path: Path) -> str:
    for name in ("plug", "other"):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    return str(tmp_path / "bin")


def written(path: Path, *providers: dict, version: str = "v1") -> str:
    body = {"apiVersion": f"kubelet.config.k8s.io/{version}", "kind": "CredentialProviderConfig"}
    path.write_text(json.dumps({**body, "providers": list(providers)}))
    return str(path)


@pytest.mark.parametrize("version", ["v1", "v1beta1", "v1alpha1"])
def test_a_file_of_each_version_is_read(tmp_path, bin_dir, version):
    [found] = load(written(tmp_path / "c", GOOD, version=version), bin_dir)
    assert (found.name, found.args, float(found.defaultCacheDuration or 0)) == ("plug", ["get"], 43200.0)
    assert found.env[0].value == "1"


def test_the_hash_covers_each_file_with_its_length_in_their_order(tmp_path):
    (tmp_path / "20.json").write_text("b")
    (tmp_path / "10.yaml").write_text("aa")
    (tmp_path / "README").write_text("not read")
    framed = b"\0\0\0\0\0\0\0\2aa" + b"\0\0\0\0\0\0\0\1b"
    assert digest(str(tmp_path)) == f"sha256:{hashlib.sha256(framed).hexdigest()}"
    assert digest(str(tmp_path / "10.yaml")) == f"sha256:{hashlib.sha256(framed[:10]).hexdigest()}"


def test_the_files_of_a_directory_are_merged_in_their_order(tmp_path, bin_dir):
    folder = tmp_path / "conf.d"
    (folder / "below").mkdir(parents=True)
    written(folder / "20.yaml", GOOD)
    written(folder / "10.json", {**GOOD, "name": "other"})
    written(folder / "below" / "00.yaml", {**GOOD, "name": "never"})
    (folder / "README").write_text("not read")
    assert [found.name for found in load(str(folder), bin_dir)] == ["other", "plug"]


def test_everything_that_is_wrong_is_reported_at_once(tmp_path, bin_dir):
    bad = {"name": "a b", "matchImages": ["https://x"], "apiVersion": "v1", "oops": 1}
    token = {
        "serviceAccountTokenAudience": "",
        "cacheType": "Never",
        "requiredServiceAccountAnnotationKeys": ["a"],
        "optionalServiceAccountAnnotationKeys": ["a"],
    }
    second = {**GOOD, "apiVersion": API_VERSIONS[1], "tokenAttributes": token}
    text = "\n".join(str(problem) for problem in check(written(tmp_path / "c", bad, second, GOOD, GOOD), bin_dir))
    for rule in (
        "unknown field", "without '/' and spaces", "without scheme", "defaultCacheDuration", "must be one of",
        "needs apiVersion", "serviceAccountTokenAudience", "Token, ServiceAccount", "requireServiceAccount",
        "is given twice", "annotation key",
    ):  # fmt: skip
        assert rule in text


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        ("", "must be kind"),
        ("[]", "object"),
        (
            '{"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1"}',
            "unknown field|must be kind",
        ),
        ('{"kind": "CredentialProviderConfig", "apiVersion": "kubelet.config.k8s.io/v1"}', "at least one provider"),
    ],
)
def test_a_file_of_something_else_is_refused(tmp_path, bin_dir, content, rule):
    (tmp_path / "c").write_text(content)
    with pytest.raises(ConfigErrors, match=rule):
        load(str(tmp_path / "c"), bin_dir)


def test_a_missing_program_and_a_missing_file_are_reported(tmp_path, bin_dir):
    assert "there is no program" in str(check(written(tmp_path / "c", {**GOOD, "name": "gone"}), bin_dir)[0])
    assert "cannot be read" in str(check(str(tmp_path / "nothing"), bin_dir)[0])


def test_an_invalid_file_prevents_the_start(tmp_path, bin_dir):
    path = written(tmp_path / "c", {**GOOD, "name": "gone"})
    flags = [f"--image-credential-provider-config={path}", f"--image-credential-provider-bin-dir={bin_dir}"]
    with pytest.raises(ConfigErrors, match="there is no program"):
        load_agent([*flags, f"--root-dir={tmp_path}/root"])


def test_tokens_of_service_accounts_need_their_gate(tmp_path, bin_dir):
    token = {"serviceAccountTokenAudience": "a", "cacheType": "Token", "requireServiceAccount": True}
    path = written(tmp_path / "c", {**GOOD, "tokenAttributes": token})
    flags = [f"--image-credential-provider-config={path}", f"--image-credential-provider-bin-dir={bin_dir}"]
    flags.append(f"--root-dir={tmp_path}/root")
    assert load_agent(flags)
    gate = "KubeletServiceAccountTokenForCredentialProviders"
    with pytest.raises(ConfigErrors, match=f"needs the feature gate {gate} .provider plug"):
        load_agent([*flags, f"--feature-gates={gate}=false"])


@pytest.mark.parametrize(
    ("text", "fine"),
    [
        ("a.io", True), ("*.a.io:50/x/y", True), ("", False), ("a:b", False), ("http://a", False), ("a b", False),
        ("a%.io", False), ("a.io/x%20y", True), ("a.io/%zz", False), ("a.io/\x7f", False),
    ],
)  # fmt: skip
def test_patterns_are_hosts_with_port_and_path(text, fine):
    assert is_pattern(text) is fine
