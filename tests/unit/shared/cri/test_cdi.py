"""Which runtimes ignore CDI names, by what they say of themselves."""

from __future__ import annotations

import pytest

from actors.shared.cri.cdi import ignores_cdi
from actors.shared.cri.model import RuntimeVersion

OFF, ON, SILENT = '{"enableCDI":false}', '{"enableCDI":true,"cdiSpecDirs":["/etc/cdi"]}', '{"rootDir":"/x"}'


@pytest.mark.parametrize(
    ("name", "version", "config", "ignores"),
    [
        ("containerd", "1.6.20~ds1", SILENT, True),
        ("containerd", "v1.6.36", None, True),
        ("containerd", "1.7.24", OFF, True),
        ("containerd", "1.7.24", SILENT, True),
        ("containerd", "1.7.24", ON, False),
        ("containerd", "1.7.24", None, False),
        ("containerd", "1.7.24", "{", False),
        ("containerd", "1.7.24", "[]", False),
        ("containerd", "2.1.9+unknown", ON, False),
        ("containerd", "v2.1.9", OFF, True),
        ("containerd", "v2.9.0", SILENT, False),
        ("containerd", "unknown", OFF, False),
        ("containerd", f"{'9' * 5000}.1", OFF, False),
        ("cri-o", "1.36.0", None, False),
        ("fake", "1.6.0", OFF, False),
    ],
)
def test_only_a_runtime_that_is_known_to_ignore_them_does(
    name: str, version: str, config: str | None, ignores: bool
) -> None:
    info = {} if config is None else {"config": config, "golang": "go1.20"}
    assert ignores_cdi(RuntimeVersion(name=name, version=version, api_version="v1"), info) is ignores
