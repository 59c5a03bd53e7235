"""gRPC errors as grpc-go prints them, because users and tools know the kubelet's messages in that form."""

from __future__ import annotations

from typing import Final

UNREADABLE: Final = "the answer cannot be read"
"""Details of an INTERNAL error: the answer's bytes are no such message. Python's gRPC answers None then."""


def code_name(code: str) -> str:
    """`NotFound`. `code`: the name of gRPC, NOT_FOUND."""
    special = {"OK": "OK", "CANCELLED": "Canceled"}
    return special.get(code) or "".join(word.capitalize() for word in code.split("_"))


def rpc_error(code: str, details: str) -> str:
    """`rpc error: code = NotFound desc = ...`. `code`: the name of gRPC, NOT_FOUND."""
    return f"rpc error: code = {code_name(code)} desc = {details}"
