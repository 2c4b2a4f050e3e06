"""The container of an Nsight Compute report: blocks of Protocol Buffers messages.

A report is the magic ``NVR`` and a zero byte, a file header, then blocks up to the end of the file.
A file header and a block header are each a little-endian 32-bit length and a message. Field 5 of a
block header is the size of the payload behind it; field 3 is about the session, field 6 about the
process. The payload holds as many sources and then launches as fields 1 and 2 say, each behind a
little-endian 32-bit length; what is in them is left to ``ncu_report``.

The layout is that of version 7 (field 1 of the file header), seen alike in reports written by
Nsight Compute 2020.3 and 2025.3; NVIDIA does not document it.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

FIRST_KNOWN = 7
VERSION = 1
SOURCES, LAUNCHES, SESSION, PAYLOAD_SIZE, PROCESS = 1, 2, 3, 5, 6
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class Field(NamedTuple):
    """A field of a message: its number, wire type, value and where its bytes lie."""

    number: int
    wire: int
    value: int
    start: int
    end: int


@dataclass(frozen=True)
class Block:
    """A block of a report: its header and where that header lies in the file, in bytes."""

    header: bytes
    start: int


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("a number runs past the end of its message")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data: bytes) -> Iterator[Field]:
    """Walk the fields of a message; positions are relative to ``data``.

    Raises
    ------
    ValueError
        When the bytes are not a whole message.
    """
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        value = 0
        start = at
        if wire == VARINT:
            value, at = _varint(data, at)
        elif wire == BYTES:
            size, start = _varint(data, at)
            at = start + size
        elif wire in (FIXED64, FIXED32):
            at += 8 if wire == FIXED64 else 4
        else:
            raise ValueError(f"unknown wire type {wire}")
        if number == 0 or at > len(data):
            raise ValueError("a field runs past the end of its message")
        yield Field(number, wire, value, start, at)


def number_of(message: bytes, number: int) -> int:
    """Return the last value of a number field, or 0 where the message lacks it."""
    return _numbers(message).get(number, 0)


def _numbers(message: bytes) -> dict[int, int]:
    return {field.number: field.value for field in fields(message)}


def bytes_of(message: bytes, number: int) -> list[bytes]:
    """Return every value of a bytes field, in order."""
    return [
        message[f.start : f.end] for f in fields(message) if f.number == number and f.wire == BYTES
    ]


def _message(stream: BinaryIO) -> bytes:
    prefix = stream.read(4)
    if len(prefix) < 4:
        raise ValueError("it ends inside a length")
    (size,) = struct.unpack("<I", prefix)
    message = stream.read(size)
    if len(message) < size:
        raise ValueError("it ends inside a header")
    return message


def blocks(stream: BinaryIO) -> list[Block]:
    """Walk the blocks of a report by its headers and lengths; none where it is older than known.

    A newer version is taken for one of the known layout, which ``ncu_report`` does too.

    Raises
    ------
    ValueError
        When the file ends before its last block does, or a header is not a message. A file cut
        exactly between two blocks is whole by its layout: only its hash tells.
    """
    size = stream.seek(0, os.SEEK_END)
    stream.seek(4)
    if number_of(_message(stream), VERSION) < FIRST_KNOWN:
        return []
    found = []
    while stream.tell() < size:
        start = stream.tell() + 4
        header = _message(stream)
        found.append(Block(header, start))
        numbers = _numbers(header)
        payload = numbers.get(PAYLOAD_SIZE, 0)
        if stream.tell() + payload > size:
            raise ValueError("it ends inside a launch")
        _step_over(stream, numbers.get(SOURCES, 0) + numbers.get(LAUNCHES, 0), payload)
    return found


def _step_over(stream: BinaryIO, parts: int, payload: int) -> None:
    """Step from length to length over a payload, which its sources and launches must fill.

    ``ncu_report`` believes the lengths: one of 2 GiB and more ends the whole process.
    """
    end = stream.tell() + payload
    for _ in range(parts):
        (size,) = struct.unpack("<I", stream.read(4).ljust(4, b"\xff"))
        stream.seek(size, os.SEEK_CUR)
        if stream.tell() > end:
            break
    if stream.tell() != end:
        raise ValueError("a block does not hold the launches that it counts")
