"""FNV-1a (draft-eastlake-fnv): the hash of checksums, of container specs and of the UIDs of static pods. Pure."""

from typing import Final

_OFFSET_32: Final = 0x811C9DC5
_PRIME_32: Final = 0x01000193
_OFFSET_128: Final = 0x6C62272E07BB014262B821756295C58D
_PRIME_128: Final = 0x0000000001000000000000000000013B
_MASK_128: Final = (1 << 128) - 1


def fnv1a_32(text: str | bytes, found: int = _OFFSET_32) -> int:
    """The hash of the text's UTF-8 bytes. `found`: the hash of the text before it, to continue that one."""
    for byte in text.encode() if isinstance(text, str) else text:
        found = ((found ^ byte) * _PRIME_32) & 0xFFFFFFFF
    return found


def fnv1a_128(data: bytes) -> str:
    """The hash, as 32 hexadecimal digits."""
    value = _OFFSET_128
    for byte in data:
        value = ((value ^ byte) * _PRIME_128) & _MASK_128
    return f"{value:032x}"
