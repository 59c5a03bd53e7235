"""FNV-1a has the values of its specification, draft-eastlake-fnv."""

from actors.shared.fnv import fnv1a_32, fnv1a_128


def test_32_bits_have_the_published_values():
    assert [fnv1a_32(text) for text in ("", "a", "foobar")] == [0x811C9DC5, 0xE40C292C, 0xBF9CF968]


def test_bytes_and_their_text_have_the_same_value():
    assert fnv1a_32("\u00e4") == fnv1a_32("\u00e4".encode())


def test_a_text_may_be_hashed_in_parts():
    assert fnv1a_32("bar", fnv1a_32("foo")) == fnv1a_32("foobar")


def test_128_bits_have_the_published_values():
    assert fnv1a_128(b"") == "6c62272e07bb014262b821756295c58d"
    assert fnv1a_128(b"a") == "d228cb696f1a8caf78912b704e4a8964"
