"""What the agent calls itself: the Kubernetes release whose node agent it does the work of, and its own release."""

from __future__ import annotations

import platform
from typing import Final

MAJOR, MINOR, PATCH = 1, 36, 2
KUBERNETES_VERSION: Final = f"v{MAJOR}.{MINOR}.{PATCH}"
PREVIOUS_MINOR: Final = f"{MAJOR}.{MINOR - 1}"
OWN_VERSION: Final = "0.2.0"
"""Troupelet's release; the package's build reads it here. To ask what is installed takes longer than a whole module."""


def git_version() -> str:
    """Reported as the kubelet's version: kubeadm and the version skew rules read its beginning."""
    return f"{KUBERNETES_VERSION}+troupelet.{OWN_VERSION}"


def version_text(kind: str) -> str:
    """What --version (`true`) and --version=raw print."""
    if kind == "raw":
        fields = {
            "Major": str(MAJOR),
            "Minor": str(MINOR),
            "GitVersion": git_version(),
            "PythonVersion": platform.python_version(),
            "Platform": f"linux/{platform.machine()}",
        }
        return "version.Info{" + ", ".join(f'{name}:"{value}"' for name, value in fields.items()) + "}"
    return f"Kubernetes {git_version()}"
