"""How the agent logs, by the field `logging`."""

from __future__ import annotations

from actors.shared.config.fields.duration import Duration
from actors.shared.config.fields.groups import FormatOptions, Logging, LoggingOptions
from actors.shared.config.fields.log_settings import set_logging
from supervision.protocol import Split

OPTIONS = LoggingOptions(
    text=FormatOptions(splitStream=True, infoBufferSize="1Ki"), json=FormatOptions(splitStream=False, infoBufferSize=7)
)


def test_the_options_are_those_of_the_format():
    text = Logging(options=OPTIONS, flushFrequency=Duration(3))
    assert set_logging(text).split == Split(buffer_bytes=1024, flush_seconds=3.0)
    assert set_logging(Logging(options=OPTIONS, format="json")).split is None
    assert set_logging(Logging()).split is None
