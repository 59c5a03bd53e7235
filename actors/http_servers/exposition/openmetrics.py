"""A page in the Prometheus text format 0.0.4 as OpenMetrics 1.0.0. Pure.

The families change their names as in Prometheus' own client libraries: a counter loses `_total`, its samples keep it;
a counter without `_total`, such as some of the kubelet's, gets the type unknown. Bounds of buckets get a fraction,
times are seconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

MEDIA_TYPE: Final = "application/openmetrics-text"
CONTENT_TYPE: Final = f"{MEDIA_TYPE}; version=1.0.0; charset=utf-8"
END: Final = "# EOF\n"
_BOUND: Final = re.compile(r'le="(\d+)"\}$')


def is_wanted(accept: str) -> bool:
    """Whether this header Accept asks for OpenMetrics, and not for text/plain too.

    A Prometheus server names both. It gets text/plain, as from a kubelet: otherwise `le="1"` would become `le="1.0"`
    in its series.
    """
    types = {kind for kind, quality in _accepted_types(accept) if quality > 0}
    return MEDIA_TYPE in types and "text/plain" not in types


def _accepted_types(accept: str) -> Iterator[tuple[str, float]]:
    for one in accept.split(","):
        kind, *parameters = (part.strip().lower() for part in one.split(";"))
        weights = [part[2:] for part in parameters if part.startswith("q=")]
        try:
            yield kind, float(weights[0]) if weights else 1.0
        except ValueError:
            yield kind, 0.0


def translated(page: str) -> str:
    """The families of `page`, each of them whole, without the END of a document."""
    return "".join(f"{line}\n" for line in _lines(page))


def _lines(page: str) -> Iterator[str]:
    about = kind = ""
    for line in page.split("\n"):  # not splitlines(): a label's value may have other line breaks
        if not line:
            continue
        if line.startswith("# HELP "):
            about = line.split(" ", 3)[3]
        elif line.startswith("# TYPE "):
            name, kind = line.split(" ")[2:]
            if kind == "counter":
                name, kind = (name.removesuffix("_total"), kind) if name.endswith("_total") else (name, "unknown")
            yield f"# TYPE {name} {kind}"
            yield "# HELP {} {}".format(name, about.replace('"', '\\"'))
        else:
            yield _sample(line, kind)


def _sample(line: str, kind: str) -> str:
    """`kind`: of its family."""
    series, brace, rest = line.rpartition("}")
    if not brace:
        series, _, rest = line.partition(" ")
    value, *times = rest.split()
    if kind == "histogram":
        series = _BOUND.sub(r'le="\1.0"}', f"{series}{brace}").removesuffix("}") if brace else series
    at = [f"{time[:-3] or 0}.{time[-3:]}" for time in times]
    return " ".join([f"{series}{brace}", value, *at])
