"""Functions of OpenSSL that Python's ssl lacks. They are called on the structures at the beginning of Python's objects.

- Verification of client certificates is deferred: an invalid certificate does not end the handshake, so that its owner
  can still show a token, as with the kubelet. OpenSSL continues if its verify callback returns 1, and keeps the result
  (SSL_get_verify_result).
- Several key exchange groups (RFC 8446, 4.2.7) are set; Python before 3.15 can set one.

Both are off if TROUPELET_OPENSSL_CALLS is 0 in the environment, or if the structures are not known; no structure is
accessed then. docs/decisions/openssl-calls.md describes the gain.
"""

from __future__ import annotations

import ctypes
import os
import ssl
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

SWITCH: Final = "TROUPELET_OPENSSL_CALLS"
_SSL_VERIFY_PEER: Final = 1
_X509_V_OK: Final = 0
_SET_GROUPS_LIST: Final = 92
"""SSL_CTRL_SET_GROUPS_LIST of openssl/ssl.h."""
_HEAD: Final = object.__basicsize__
_Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p)
_go_on = _Callback(lambda preverify_ok, store: 1)
"""OpenSSL calls it for each certificate of the chain; the result of the verification is kept nevertheless."""


def defer_verification(context: ssl.SSLContext) -> bool:
    """Let handshakes continue with an invalid client certificate. False: not possible here.

    Call it last: setting verify_mode undoes it.
    """
    library = _library()
    if library is None or not context.verify_mode & _SSL_VERIFY_PEER:
        return False
    library.SSL_CTX_set_verify(_context(context), _SSL_VERIFY_PEER, _go_on)
    return True


def is_verified(connection: ssl.SSLSocket | ssl.SSLObject) -> bool:
    """Whether the peer's certificate is valid: chain, time and purpose. False when unknown."""
    library, inner = _library(), getattr(connection, "_sslobj", None)
    if library is None or inner is None:
        return False
    # PySSLSocket is PyObject_HEAD, PyObject *Socket, SSL *ssl, PySSLContext *ctx: the last one proves the layout
    _, connected, context = (ctypes.c_void_p * 3).from_address(id(inner) + _HEAD)
    if context != id(connection.context) or not connected:
        return False
    return bool(library.SSL_get_verify_result(connected) == _X509_V_OK)


def set_groups(context: ssl.SSLContext, groups: Sequence[str]) -> None:
    """Allow these key exchange groups only, by OpenSSL's names. Groups that OpenSSL does not have are left out.

    Raises ssl.SSLError if it has none of them or they cannot be set, because the default might be weaker.
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
        library = _library()
        if library is None:
            raise ssl.SSLError("this Python can set one key exchange group only")
        if library.SSL_CTX_ctrl(_context(context), _SET_GROUPS_LIST, 0, ":".join(known).encode()) != 1:
            raise ssl.SSLError(f"OpenSSL does not take the key exchange groups {':'.join(known)}")


def _is_known(group: str) -> bool:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).set_ecdh_curve(group)
    except (ValueError, ssl.SSLError):
        return False
    return True


def _context(context: ssl.SSLContext) -> ctypes.c_void_p:
    """PySSLContext is PyObject_HEAD, then SSL_CTX *ctx (Modules/_ssl.c, unchanged from 3.6 to 3.14)."""
    return ctypes.c_void_p.from_address(id(context) + _HEAD)


@cache
def _library() -> Any:
    """The OpenSSL library that Python uses; None if it is switched off, cannot be loaded, or the layout is unknown."""
    import _ssl

    if os.environ.get(SWITCH) == "0" or sys.implementation.name != "cpython" or not sys.version_info < (3, 15):
        return None
    try:
        library = ctypes.CDLL(_ssl.__file__)
        set_verify, get_result, control = (
            library.SSL_CTX_set_verify, library.SSL_get_verify_result, library.SSL_CTX_ctrl,
        )  # fmt: skip
    except (OSError, AttributeError):  # OpenSSL is built into Python
        return None
    set_verify.argtypes, set_verify.restype = (ctypes.c_void_p, ctypes.c_int, _Callback), None
    get_result.argtypes, get_result.restype = (ctypes.c_void_p,), ctypes.c_long
    control.argtypes, control.restype = (ctypes.c_void_p, ctypes.c_int, ctypes.c_long, ctypes.c_char_p), ctypes.c_long
    return library
