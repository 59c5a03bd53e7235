"""The key exchange groups of a TLS context (RFC 8446, 4.2.7), which Python can set one of, until 3.15.

Several are set by OpenSSL's own call (SSL_CTX_set1_groups_list), on the structure that the context object begins with.
That is only done when several are configured.
"""

from __future__ import annotations

import ctypes
import ssl
import sys
from collections.abc import Sequence
from typing import Final

_SET_GROUPS_LIST: Final = 92
"""SSL_CTRL_SET_GROUPS_LIST of openssl/ssl.h."""


def set_groups(context: ssl.SSLContext, groups: Sequence[str]) -> list[str]:
    """Let the context agree on these groups only, by OpenSSL's names. Returns those that this OpenSSL does not have.

    Raises ssl.SSLError when it has none of them, or they cannot be set: rather no connection than a weaker one.
    """
    known = [group for group in groups if _is_known(group)]
    if not known:
        raise ssl.SSLError(
            f"this OpenSSL ({ssl.OPENSSL_VERSION}) has none of the key exchange groups {', '.join(groups)}"
        )
    if len(known) == 1:
        context.set_ecdh_curve(known[0])
    elif hasattr(context, "set_groups"):
        context.set_groups(":".join(known))
    else:
        _set_list(context, ":".join(known))
    return [group for group in groups if group not in known]


def _is_known(group: str) -> bool:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).set_ecdh_curve(group)
    except (ValueError, ssl.SSLError):
        return False
    return True


def _set_list(context: ssl.SSLContext, groups: str) -> None:
    """Raises ssl.SSLError where that cannot be done, before anything is touched that is not a context."""
    import _ssl

    if sys.implementation.name != "cpython" or not sys.version_info < (3, 15):
        raise ssl.SSLError("this Python can set one key exchange group only")
    try:
        control = ctypes.CDLL(_ssl.__file__).SSL_CTX_ctrl
    except (OSError, AttributeError):
        raise ssl.SSLError("this Python can set one key exchange group only: OpenSSL is built into it") from None
    control.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_long, ctypes.c_char_p)
    control.restype = ctypes.c_long
    # PySSLContext is PyObject_HEAD, then SSL_CTX *ctx (Modules/_ssl.c, unchanged from 3.6 to 3.14)
    pointer = ctypes.c_void_p.from_address(id(context) + object.__basicsize__)
    if control(pointer, _SET_GROUPS_LIST, 0, groups.encode()) != 1:
        raise ssl.SSLError(f"OpenSSL does not take the key exchange groups {groups}")


__all__ = ["set_groups"]
