"""The versions that the agent reports: the Kubernetes release whose kubelet it replaces, and its own release."""

from __future__ import annotations

import platform
from typing import Final

MAJOR, MINOR, PATCH = 1, 36, 2
KUBERNETES_VERSION: Final = f"v{MAJOR}.{MINOR}.{PATCH}"
PREVIOUS_MINOR: Final = f"{MAJOR}.{MINOR - 1}"
OWN_VERSION: Final = "0.3.0"
"""Troupelet's release; the build reads it here. Asking for the installed version takes longer than importing a
module."""


def git_version() -> str:
    """The reported kubelet version; kubeadm and the version skew rules read its beginning."""
    return f"{KUBERNETES_VERSION}+troupelet.{OWN_VERSION}"


def version_text(kind: str) -> str:
    """The output of --version (`true`) and --version=raw."""
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
