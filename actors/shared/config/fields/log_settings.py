"""Converts the field `logging` of the configuration for the engine."""

from __future__ import annotations

from actors.shared.kube.quantity import ceil, parse
from supervision.protocol import SetLogging, Split

from .groups import FormatOptions, Logging


def set_logging(settings: Logging) -> SetLogging:
    """Verbosity, format, its options and the rules of --vmodule."""
    return SetLogging(
        verbosity=int(settings.verbosity),
        form="json" if settings.format == "json" else "text",
        vmodule=tuple((rule.filePattern, int(rule.verbosity)) for rule in settings.vmodule),
        split=_split(settings, settings.options.json if settings.format == "json" else settings.options.text),
    )


def _split(settings: Logging, options: FormatOptions) -> Split | None:
    """Only stdout is buffered, so there is no buffer without the split."""
    if not options.splitStream:
        return None
    return Split(max(0, ceil(parse(options.infoBufferSize))), float(settings.flushFrequency))
