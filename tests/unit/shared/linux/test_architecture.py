"""Names of architectures."""

from __future__ import annotations

import platform

from actors.http_servers.exposition.program_metrics import version_samples
from actors.shared.linux.architecture import architecture


def test_machines_have_the_names_that_go_and_images_use() -> None:
    assert [architecture(machine) for machine in ("x86_64", "aarch64", "riscv64")] == ["amd64", "arm64", "riscv64"]
    assert architecture("m68k") == "m68k"
    assert architecture() == architecture(platform.machine())


def test_the_platform_of_the_build_has_gos_name() -> None:
    (build,) = [one.labels for one in version_samples() if one.name == "kubernetes_build_info"]
    assert build["platform"] == f"linux/{architecture()}"
