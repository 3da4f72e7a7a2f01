"""Header blocks and their Huffman code, against the examples of RFC 7541 (appendix C) and each other."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime import http2_huffman
from runtime.http2_frames import ErrorCode, Http2Error
from runtime.http2_hpack import (
    BlockHeaders,
    read_block,
    read_integer,
    text_of,
    write_fields,
    write_integer,
)
from tests.unit.runtime.http2_peer import huffman


def read(block: bytes) -> list[tuple[str, str]]:
    return [(name, text_of(value)) for name, value in read_block(block)]


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("f1e3 c2e5 f23a 6ba0 ab90 f4ff", "www.example.com"),
        ("a8eb 1064 9cbf", "no-cache"),
        ("25a8 49e9 5ba9 7d7f", "custom-key"),
        ("25a8 49e9 5bb8 e8b4 bf", "custom-value"),
        ("6402", "302"),
        ("aec3 771a 4b", "private"),
        ("d07a be94 1054 d444 a820 0595 040b 8166 e082 a62d 1bff", "Mon, 21 Oct 2013 20:13:21 GMT"),
        ("9d29 ad17 1863 c78f 0b97 c8e9 ae82 ae43 d3", "https://www.example.com"),
        ("", ""),
    ],
)
def test_the_huffman_code_is_the_standards(code: str, text: str) -> None:
    assert http2_huffman.decode(bytes.fromhex(code)) == text.encode()


def test_the_code_has_a_place_for_every_byte_and_for_one_end_and_no_room_left() -> None:
    assert sorted(http2_huffman.CODES.values()) == list(range(256))
    used = sum(Fraction(1, 2 ** len(code)) for code in http2_huffman.CODES)
    assert used + Fraction(1, 2**30) == 1


@given(st.binary(max_size=30))
def test_huffman_gives_back_what_was_put_in(text: bytes) -> None:
    assert text_of(huffman(text)) == text.decode("latin-1")


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(b"\xff", id="eight ones of padding"),
        pytest.param(b"\x18", id="padding with zeros"),
        pytest.param(b"\xff\xff\xff\xff", id="the end inside"),
    ],
)
def test_a_broken_huffman_code_is_refused(code: bytes) -> None:
    with pytest.raises(ValueError, match="Huffman"):
        http2_huffman.decode(code)


@pytest.mark.parametrize(
    ("value", "bits", "written"), [(10, 5, "0a"), (1337, 5, "1f9a0a"), (42, 8, "2a"), (31, 5, "1f00"), (127, 7, "7f00")]
)
def test_integers_are_written_as_the_standard_shows(value: int, bits: int, written: str) -> None:
    assert write_integer(value, bits).hex() == written
    assert read_integer(bytes.fromhex(written), 0, bits) == (value, len(written) // 2)


@given(st.integers(0, 2**32), st.integers(1, 8))
def test_integers_come_back(value: int, bits: int) -> None:
    written = write_integer(value, bits)
    assert read_integer(written + b"x", 0, bits) == (value, len(written))


@pytest.mark.parametrize(
    ("block", "fields"),
    [
        pytest.param("400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572", [("custom-key", "custom-header")], id="C.2.1"),
        pytest.param("040c 2f73 616d 706c 652f 7061 7468", [(":path", "/sample/path")], id="C.2.2"),
        pytest.param("1008 7061 7373 776f 7264 0673 6563 7265 74", [("password", "secret")], id="C.2.3"),
        pytest.param("82", [(":method", "GET")], id="C.2.4"),
        pytest.param("8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "www.example.com")], id="C.4.1"),
        pytest.param("4882 6402 5885 aec3 771a 4b", [(":status", "302"), ("cache-control", "private")], id="the beginning of C.6.1"),
        pytest.param("20 88", [(":status", "200")], id="a table of size 0"),
        pytest.param("0f0d 0131", [("content-length", "1")], id="an index of two bytes"),
        pytest.param("", [], id="nothing"),
    ],
)  # fmt: skip
def test_blocks_are_read(block: str, fields: list[tuple[str, str]]) -> None:
    assert read(bytes.fromhex(block)) == fields


@pytest.mark.parametrize(
    "block",
    [
        pytest.param("be", id="an index into a dynamic table"),
        pytest.param("80", id="index 0"),
        pytest.param("7e 01 61", id="a name in a dynamic table"),
        pytest.param("3f e1 1f", id="a dynamic table after all"),
        pytest.param("88 20", id="a size after a field"),
        pytest.param("00", id="no name"),
        pytest.param("00 02 61", id="half a name"),
        pytest.param("08", id="no value"),
        pytest.param("08 03 32 30", id="half a value"),
        pytest.param("ff", id="half an integer"),
        pytest.param("ff ff ff ff ff ff 01", id="an integer of too many bytes"),
        pytest.param("00 81 ff 00", id="a name in a broken code"),
    ],
)
def test_a_block_that_cannot_be_read_is_a_compression_error(block: str) -> None:
    with pytest.raises(Http2Error) as caught:
        read_block(bytes.fromhex(block))
    assert caught.value.code is ErrorCode.COMPRESSION_ERROR


@given(st.binary(max_size=60))
def test_any_bytes_are_a_block_or_a_compression_error(block: bytes) -> None:
    codes, headers = [], BlockHeaders([])
    try:
        headers = BlockHeaders(read_block(block))
    except Http2Error as error:
        codes.append(error.code)
    assert codes in ([], [ErrorCode.COMPRESSION_ERROR])
    assert all(headers[name] == headers[name.upper()] for name in headers if name.isascii())


names = st.from_regex(r"[a-z][a-z0-9-]{0,140}", fullmatch=True)
values = st.text(st.characters(max_codepoint=255, blacklist_categories=["Cc"]), max_size=140)


@given(st.lists(st.tuples(names, values), max_size=5))
def test_fields_come_back(fields: list[tuple[str, str]]) -> None:
    assert read(write_fields(fields)) == fields


def test_credentials_may_enter_nobodys_table() -> None:
    assert [write_fields([(name, "v")])[0] for name in ("accept", "authorization", "cookie")] == [0x00, 0x10, 0x10]


def test_headers_are_found_in_any_case_and_joined() -> None:
    headers = BlockHeaders(read_block(write_fields([("warning", "a"), ("retry-after", "3"), ("warning", "b")])))
    assert headers["Warning"] == "a, b"
    assert "Retry-After" in headers
    assert "Date" not in headers
    assert headers.get("Date", "") == ""
    assert (len(headers), list(headers)) == (2, ["warning", "retry-after"])


def test_a_value_that_cannot_be_decoded_reads_as_empty() -> None:
    headers = BlockHeaders(read_block(b"\x00\x01a" + b"\x81\xff"))
    assert headers["a"] == ""
