"""gRPC errors as grpc-go prints them, because users and tools know the kubelet's messages in that form."""

from __future__ import annotations


def rpc_error(code: str, details: str) -> str:
    """`rpc error: code = NotFound desc = ...`. `code`: the name of gRPC, NOT_FOUND."""
    name = "Canceled" if code == "CANCELLED" else "".join(word.capitalize() for word in code.split("_"))
    return f"rpc error: code = {name} desc = {details}"
