"""How the agent logs, as the engine takes it: from the field `logging` of the configuration."""

from __future__ import annotations

from supervision.protocol import SetLogging

from .groups import Logging


def set_logging(settings: Logging) -> SetLogging:
    """Verbosity, format and the rules of --vmodule."""
    return SetLogging(
        verbosity=int(settings.verbosity),
        form="json" if settings.format == "json" else "text",
        vmodule=tuple((rule.filePattern, int(rule.verbosity)) for rule in settings.vmodule),
    )
