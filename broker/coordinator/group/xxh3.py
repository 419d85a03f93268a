"""XXH3 of 64 bits with seed 0: the hash by which Kafka's coordinators know metadata again.

    0–16 bytes     a formula each for 0, 1–3, 4–8 and 9–16
    17–240         pairs of words, each folded with a pair of the secret, added up
    from 241 on    stripes of 64 bytes into 8 lanes, which are scrambled after every 16 stripes

Words are little-endian, arithmetic is modulo 2^64. Made for metadata, not for records: it takes a
microsecond for eight bytes.
Source: the specification of xxHash 0.8, Yann Collet.
"""

from struct import unpack, unpack_from
from typing import Final

_SECRET: Final = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
_MASK: Final = 2**64 - 1
_LOW: Final = 2**32 - 1
_PRIME32: Final = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
_PRIME64: Final = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
_MIX_1: Final = 0x165667919E3779F9
_MIX_2: Final = 0x9FB21C651E98DF25
_LANES: Final = (_PRIME32[2], *_PRIME64[:4], _PRIME32[1], _PRIME64[4], _PRIME32[0])
_STRIPE: Final = 64
_BLOCK: Final = 1024
_LAST_SECRET: Final = len(_SECRET) - _STRIPE


def xxh3_64(data: bytes) -> int:
    """The hash, from 0 to 2^64 - 1."""
    length = len(data)
    if length <= 16:
        return _up_to_16(data, length)
    if length <= 240:
        return _up_to_240(data, length)
    return _long(data, length)


def _word(data: bytes, position: int) -> int:
    return int.from_bytes(data[position : position + 8], "little")


def _secret(position: int) -> int:
    return _word(_SECRET, position)


def _fold(left: int, right: int) -> int:
    product = left * right
    return product & _MASK ^ product >> 64


def _avalanche(value: int) -> int:
    value &= _MASK
    value = (value ^ value >> 37) * _MIX_1 & _MASK
    return value ^ value >> 32


def _avalanche_of_xxh64(value: int) -> int:
    value = (value ^ value >> 33) * _PRIME64[1] & _MASK
    value = (value ^ value >> 29) * _PRIME64[2] & _MASK
    return value ^ value >> 32


def _up_to_16(data: bytes, length: int) -> int:
    if length > 8:
        low = _word(data, 0) ^ _secret(24) ^ _secret(32)
        high = _word(data, length - 8) ^ _secret(40) ^ _secret(48)
        swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
        return _avalanche(length + swapped + high + _fold(low, high))
    if length > 3:
        (first,), (last,) = unpack_from("<I", data), unpack_from("<I", data, length - 4)
        value: int = (last + (first << 32)) ^ _secret(8) ^ _secret(16)
        value ^= (value << 49 | value >> 15) & _MASK ^ (value << 24 | value >> 40) & _MASK
        value = value * _MIX_2 & _MASK
        value = (value ^ (value >> 35) + length) * _MIX_2 & _MASK
        return value ^ value >> 28
    if length:
        first, middle, last = data[0], data[length >> 1], data[length - 1]
        combined = first << 16 | middle << 24 | last | length << 8
        return _avalanche_of_xxh64(combined ^ (_secret(0) ^ _secret(0) >> 32) & _LOW)
    return _avalanche_of_xxh64(_secret(56) ^ _secret(64))


def _mix(data: bytes, position: int, secret: int) -> int:
    return _fold(
        _word(data, position) ^ _secret(secret), _word(data, position + 8) ^ _secret(secret + 8)
    )


def _up_to_240(data: bytes, length: int) -> int:
    value = length * _PRIME64[0]
    if length <= 128:
        for pair in range((length + 31) // 32):
            value += _mix(data, 16 * pair, 32 * pair)
            value += _mix(data, length - 16 * (pair + 1), 32 * pair + 16)
        return _avalanche(value)
    for pair in range(8):
        value += _mix(data, 16 * pair, 16 * pair)
    value = _avalanche(value)
    for pair in range(8, length // 16):
        value += _mix(data, 16 * pair, 16 * (pair - 8) + 3)
    return _avalanche(value + _mix(data, length - 16, 136 - 17))


def _long(data: bytes, length: int) -> int:
    lanes = list(_LANES)
    for position in range(0, length, _STRIPE):
        if position and position % _BLOCK == 0:
            _scramble(lanes)
        if position + _STRIPE < length:
            _accumulate(lanes, data, position, position % _BLOCK // 8)
    _accumulate(lanes, data, length - _STRIPE, _LAST_SECRET - 7)
    value = length * _PRIME64[0]
    for pair in range(4):
        left, right = lanes[2 * pair : 2 * pair + 2]
        value += _fold(left ^ _secret(11 + 16 * pair), right ^ _secret(19 + 16 * pair))
    return _avalanche(value)


def _accumulate(lanes: list[int], data: bytes, position: int, secret: int) -> None:
    words = unpack("<8Q", data[position : position + _STRIPE])
    keys = unpack("<8Q", _SECRET[secret : secret + _STRIPE])
    for lane, (word, key) in enumerate(zip(words, keys, strict=True)):
        key ^= word
        lanes[lane ^ 1] = lanes[lane ^ 1] + word & _MASK
        lanes[lane] = lanes[lane] + (key & _LOW) * (key >> 32) & _MASK


def _scramble(lanes: list[int]) -> None:
    keys = unpack("<8Q", _SECRET[_LAST_SECRET:])
    for lane, key in enumerate(keys):
        value = lanes[lane]
        lanes[lane] = (value ^ value >> 47 ^ key) * _PRIME32[0] & _MASK
