"""Client certificates that do not pass need not end the handshake: the verdict is asked for when somebody wants in by
them, so that a caller with a certificate of another cluster can still show a token, as with the reference.

OpenSSL goes on when its verify callback says so, and keeps the verdict (SSL_get_verify_result; nginx does it so).
Python has neither, so both are called on the structures that its objects begin with. Where that cannot be done, nothing
is touched: a bad certificate then ends the handshake.
"""

from __future__ import annotations

import ctypes
import ssl
import sys
from functools import cache
from typing import Any, Final

_SSL_VERIFY_PEER: Final = 1
_X509_V_OK: Final = 0
_HEAD: Final = object.__basicsize__
_Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p)


_go_on = _Callback(lambda preverify_ok, store: 1)
"""Called by OpenSSL for each certificate of the chain; the verdict is kept all the same."""


def defer(context: ssl.SSLContext) -> bool:
    """Have handshakes go on with a certificate that does not pass. To be called last: to set verify_mode undoes it.
    False: it cannot be done here."""
    library = _library()
    if library is None or not context.verify_mode & _SSL_VERIFY_PEER:
        return False
    # PySSLContext is PyObject_HEAD, then SSL_CTX *ctx (Modules/_ssl.c, unchanged from 3.6 to 3.14)
    pointer = ctypes.c_void_p.from_address(id(context) + _HEAD)
    library.SSL_CTX_set_verify(pointer, _SSL_VERIFY_PEER, _go_on)
    return True


def passed(connection: ssl.SSLSocket | ssl.SSLObject) -> bool:
    """Whether the certificate that the other end showed passed, chain, validity and purpose. False in every doubt."""
    library, inner = _library(), getattr(connection, "_sslobj", None)
    if library is None or inner is None:
        return False
    # PySSLSocket is PyObject_HEAD, PyObject *Socket, SSL *ssl, PySSLContext *ctx: the last tells that it is so
    _, connected, context = (ctypes.c_void_p * 3).from_address(id(inner) + _HEAD)
    if context != id(connection.context) or not connected:
        return False
    return bool(library.SSL_get_verify_result(connected) == _X509_V_OK)


@cache
def _library() -> Any:
    """OpenSSL as Python is bound to it; None where it cannot be reached, or the structures are not known."""
    import _ssl

    if sys.implementation.name != "cpython" or not sys.version_info < (3, 15):
        return None
    try:
        library = ctypes.CDLL(_ssl.__file__)
        set_verify, get_result = library.SSL_CTX_set_verify, library.SSL_get_verify_result
    except (OSError, AttributeError):  # OpenSSL is built into Python
        return None
    set_verify.argtypes, set_verify.restype = (ctypes.c_void_p, ctypes.c_int, _Callback), None
    get_result.argtypes, get_result.restype = (ctypes.c_void_p,), ctypes.c_long
    return library
