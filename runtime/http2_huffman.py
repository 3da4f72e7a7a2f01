"""
The Huffman code of HTTP/2 headers (RFC 7541, appendix B), decoding only: nothing forces a sender to use it.

The code is canonical: among codes of one length, and from each length to the next, they count upwards in the order
of their bytes. So the lengths say everything, and the table is made from them.
"""

from __future__ import annotations

from functools import lru_cache

_BY_LENGTH: dict[int, bytes] = {
    5: b"012aceiost",
    6: b" %-./3456789=A_bdfghlmnpru",
    7: b":BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz",
    8: b"&*,;XZ",
    10: b'!"()?',
    11: b"'+|",
    12: b"#>",
    13: b"\0$@[]~",
    14: b"^}",
    15: b"<`{",
    19: bytes([92, 195, 208]),
    20: bytes([128, 130, 131, 162, 184, 194, 224, 226]),
    21: bytes([153, 161, 167, 172, 176, 177, 179, 209, 216, 217, 227, 229, 230]),
    22: bytes([129, 132, 133, 134, 136, 146, 154, 156, 160, 163, 164, 169, 170, 173, 178, 181, 185, 186, 187, 189, 190])
    + bytes([196, 198, 228, 232, 233]),
    23: bytes([1, 135, 137, 138, 139, 140, 141, 143, 147, 149, 150, 151, 152, 155, 157, 158, 165, 166, 168, 174, 175])
    + bytes([180, 182, 183, 188, 191, 197, 231, 239]),
    24: bytes([9, 142, 144, 145, 148, 159, 171, 206, 215, 225, 236, 237]),
    25: bytes([199, 207, 234, 235]),
    26: bytes([192, 193, 200, 201, 202, 205, 210, 213, 218, 219, 238, 240, 242, 243, 255]),
    27: bytes([203, 204, 211, 212, 214, 221, 222, 223, 241, 244, 245, 246, 247, 248, 250, 251, 252, 253, 254]),
    28: bytes([*range(2, 9), 11, 12, *range(14, 22), *range(23, 32), 127, 220, 249]),
    30: bytes([10, 13, 22]),  # and after them, all ones, the end of a string
}


def _codes() -> dict[str, int]:
    codes: dict[str, int] = {}
    code = length = 0
    for longer, symbols in _BY_LENGTH.items():
        code <<= longer - length
        length = longer
        for symbol in symbols:
            codes[f"{code:0{length}b}"] = symbol
            code += 1
    return codes


CODES = _codes()
"""Byte by its code, written as zeros and ones."""


@lru_cache(maxsize=512)
def decode(data: bytes) -> bytes:
    """
    The bytes that a code stands for. Raises ValueError for padding that isn't the shortest run of ones.

    Bit by bit, which is slow: what comes often comes out of the cache, and what nobody reads isn't asked for.
    """
    found = bytearray()
    code = ""
    for bit in f"{int.from_bytes(data):0{8 * len(data)}b}" if data else "":
        code += bit
        symbol = CODES.get(code)
        if symbol is not None:
            found.append(symbol)
            code = ""
        elif len(code) == 30:
            raise ValueError("the end of a Huffman code inside of it")
    if len(code) > 7 or "0" in code:
        raise ValueError("a Huffman code ends in the middle")
    return bytes(found)
