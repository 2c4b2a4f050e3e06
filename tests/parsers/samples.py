"""Small files of every kind that may be given to a reader, ours and others'."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa


def gzipped(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def zstandard(content: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as packed:
        packed.write(content)
    return bytes(sink.getvalue())


WRAPPERS: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda content: content,
    "gzip": gzipped,
    "zstd": zstandard,
    "gzip-in-zstd": lambda content: zstandard(gzipped(content)),
    "zstd-in-gzip": lambda content: gzipped(zstandard(content)),
}

FOREIGN: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "the file is empty"),
    "lfs": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
        "is a Git LFS pointer",
    ),
    "text": (b"hello\n", "is no report of Nsight but text that begins 'hello'"),
    "png": (b"\x89PNG\r\n\x1a\n\0\0", "a PNG image"),
    "elf": (b"\x7fELF\2\1\1\0\0", "an ELF binary"),
    "zip": (b"PK\3\4\0\0\0\0", "a zip archive; unpack it"),
    "tar": (b"a.ncu-rep".ljust(257, b"\0") + b"ustar\0", "is a tar archive"),
    "perf": (b"PERFILE2\0\0", "a recording of perf"),
    "hdf5": (b"\x89HDF\r\n\x1a\n\0", "an HDF5 file; export the report with"),
    "parquet": (b"PAR1\x15\0", "a Parquet file; give the whole folder"),
    "bytes": (b"\0\1\2\3\4\5\6\7\x08", "data that begins with the bytes 00 01 02 03"),
    "chrome-trace": (
        json.dumps({"schemaVersion": 1, "traceEvents": []}).encode(),
        "is a Chrome trace",
    ),
    "no-permission": (
        b"==PROF== Connected to process 7 (/usr/bin/python3)\n==ERROR== ERR_NVGPUCTRPERM - The "
        b"user does not have permission to access NVIDIA GPU Performance Counters\n",
        "counters (ERR_NVGPUCTRPERM); profile as root, or ",
    ),
    "no-kernels": (
        b"==PROF== Connected to process 7\n==WARNING== No kernels were profiled.\n",
        "no kernels were profiled; check ncu's filters",
    ),
    "old-driver": (
        b"==ERROR== Cuda driver is not compatible with Nsight Compute\n",
        "the driver is not compatible with this Nsight Compute",
    ),
    "no-cuda": (
        b"SKIPPED: report1.sqlite does not contain CUDA kernel data.\n",
        "is the output of an nsys that traced no kernels",
    ),
}
"""Content, and what the error says of it."""


def write(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path
