"""What the wheel has beside the modules: manual pages and completion scripts, made from the parser of all commands.

Building runs that parser, which needs msgspec; shtab writes the scripts: both are in `requires` of pyproject.toml.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMPLETIONS: Final = {
    "bash": "share/bash-completion/completions/supervise",
    "zsh": "share/zsh/site-functions/_supervise",
    "fish": "share/fish/vendor_completions.d/supervise.fish",
}
"""Where each shell looks, below the prefix."""


class CommandTexts(BuildHookInterface):
    """An editable installation has none: its sources change."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        # the same texts whatever the terminal and the environment of who builds
        os.environ["COLUMNS"] = "80"
        os.environ.pop("TROUPELET_ROOT_DIR", None)
        sys.path.insert(0, self.root)
        sys.dont_write_bytecode = True
        from actors.agent import completion, manual
        from actors.agent.subcommands import whole_parser

        self._files = tempfile.TemporaryDirectory()
        man = f"man{manual.SECTION}"
        pages = manual.pages(whole_parser(manual.WITH_FLAGS))
        pages["kubelet"] = f".so {man}/supervise-start.{manual.SECTION}\n"
        for name, text in pages.items():
            file = f"{name}.{manual.SECTION}"
            build_data["shared_data"][self._written(file, text)] = f"share/man/{man}/{file}"
        for shell, place in COMPLETIONS.items():
            text = completion.script(shell, whole_parser(completion.WITH_FLAGS))
            build_data["shared_data"][self._written(shell, text)] = place

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self._files.cleanup()

    def _written(self, name: str, text: str) -> str:
        file = Path(self._files.name, name)
        file.write_text(text)
        file.chmod(0o644)
        return str(file)
