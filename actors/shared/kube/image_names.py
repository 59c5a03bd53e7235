"""The grammar of names of images (distribution/reference): [domain[:port]/]path, components of paths in lower case.

Pure.
"""

from __future__ import annotations

import re
from typing import Final

_COMPONENT: Final = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_LABEL: Final = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_DOMAIN: Final = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
NAME: Final = rf"(?:{_DOMAIN}/)?{_COMPONENT}(?:/{_COMPONENT})*"
"""A regular expression, without tag and digest."""
_WHOLE_NAME: Final = re.compile(rf"{NAME}\Z", re.ASCII)


def is_image_name(text: str) -> bool:
    """Whether it is a name without tag and digest."""
    return _WHOLE_NAME.match(text) is not None
