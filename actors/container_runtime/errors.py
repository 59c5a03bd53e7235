"""The errors that keep a managed container runtime from starting. Each text has a remedy."""

from __future__ import annotations

from collections.abc import Mapping


class RuntimeSetupError(Exception):
    """The managed runtime cannot be set up."""

    def __init__(self, cause: str, remedy: str = "") -> None:
        super().__init__(f"{cause}: {remedy}" if remedy else cause)
        self.cause, self.remedy = cause, remedy


class MissingPrograms(RuntimeSetupError):
    """A program is not installed; `programs` maps each to its Debian package."""

    def __init__(self, programs: Mapping[str, str]) -> None:
        self.command = f"apt-get install {' '.join(sorted(set(programs.values())))}"
        super().__init__(
            f"a managed container runtime needs {', '.join(programs)}, not found here",
            f"install them (Debian, Ubuntu: {self.command}), or name the socket of a runtime with "
            "--container-runtime-endpoint",
        )
        self.programs = dict(programs)


class NotRoot(RuntimeSetupError):
    """Containers need root."""

    def __init__(self) -> None:
        super().__init__(
            "a managed container runtime needs root",
            "run this as root, or name the socket of a runtime that you may use with --container-runtime-endpoint",
        )


class ProgramFailed(RuntimeSetupError):
    """A program of the runtime's failed; the text has the end of its output."""


class NotAnswering(RuntimeSetupError):
    """The runtime did not come up in time; the text names its log."""
