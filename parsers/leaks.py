"""What gives away a machine or its user: paths, addresses, hosts and other secrets in a file."""

from __future__ import annotations

import getpass
import os
import re
import socket
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path, PurePath

_ROOTS = (
    "Users|build|builds|data|dev/shm|etc|home|lustre|media|mnt|nfs|opt|private|proc|project|"
    "projects|root|run|scratch|srv|storage|tmp|usr|var|work|workspace"
)
_PATH = re.compile(rf"/(?:{_ROOTS})(?:/[\w.+@~:,=-]+)+|/(?:home|root|work)\b(?![\w.-])".encode())
ANY_PATH = re.compile(rb"(?<![\w./*~-])/(?:[\w.+@~-]+/)+[\w.+@~-]*")
_LIKELY_PATH = re.compile(rb"(?<![\w./*~-])/[\w.+@~-]{2,}/(?:[\w.+@~-]+/)*[\w.+@~-]{2,}")
_WINDOWS = re.compile(rb"(?<![A-Za-z])[A-Za-z]:\\{1,2}(?:[\w.+~ -]{2,}\\{1,2})+[\w.+~-]*")
_IPV4 = re.compile(rb"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")
_IPV6 = re.compile(rb"(?<![\w:])(?:fe80|f[cd][0-9a-f]{2}|2[0-9a-f]{3}):[0-9a-f]{0,4}:[0-9a-f:]*")
_PRINTABLE = re.compile(rb"[\t -~]{4,}")
_CROSSED = re.compile(rb"/?x{4,}/")
"""Folders that were overwritten, before the name of a source file that was not."""

HARMLESS = (b"L1/TEX",)
"""Words with a slash in the texts of Nsight Compute that are no path, though the length before the
text that begins with one may read as another slash."""

NOWHERE = (b"127.0.0.1", b"0.0.0.0", b"255.255.255.255")
"""Addresses that are every computer's."""


def local_secrets() -> list[str]:
    """Return what gives away this machine and its user: names and the home folder."""
    home = os.path.expanduser("~")  # noqa: PTH111 -- Path.home() raises where there is none
    names = {socket.gethostname(), socket.getfqdn(), home, PurePath(home).name}
    with suppress(KeyError, OSError):  # a container's user may have no name
        names.add(getpass.getuser())
    return sorted(name for name in names if len(name) > 2 and name not in {"root", "localhost"})


def secret_pattern(secrets: Iterable[str]) -> re.Pattern[bytes] | None:
    """Match any secret; a short one only as a word, for it may be part of a kernel's name."""
    parts = [
        re.escape(secret.encode())
        if len(secret) > 5
        else rb"(?<![A-Za-z0-9_])" + re.escape(secret.encode()) + rb"(?![A-Za-z0-9_])"
        for secret in sorted(secrets, key=len, reverse=True)
        if secret
    ]
    return re.compile(b"|".join(parts)) if parts else None


def find_leaks(
    path: Path | str, secrets: Iterable[str] = (), harmless: Iterable[str] = ()
) -> list[str]:
    """List the printable strings of any file that hold a path, an IP address or a secret.

    Parameters
    ----------
    path
        A file of any format; it is searched byte by byte.
    secrets
        Names that must not be in it, such as those of `local_secrets`.
    harmless
        Texts with slashes that may be in it, such as names of ranges: where the length that
        precedes one happens to be the code of a slash, it looks like a path.

    Returns
    -------
    list of str
        The strings, at most 200 characters each, without repeats, in order; empty when clean.
    """
    secret = secret_pattern(secrets)
    found: dict[str, None] = {}
    content = Path(path).read_bytes()
    for name in (*(name.encode() for name in harmless), *HARMLESS):
        content = content.replace(name, b" " * len(name))
    content = _CROSSED.sub(lambda match: b" " * len(match.group()), content)
    patterns = [_LIKELY_PATH, _WINDOWS, _IPV6, *([secret] if secret else [])]
    if b"\0" in content:
        # In a binary file a length that happens to be a printable character may precede a path.
        patterns.append(_PATH)
    for run in _PRINTABLE.finditer(content):
        text = run.group()
        matches = [pattern.search(text) for pattern in patterns]
        matches += [m for m in _IPV4.finditer(text) if m.group() not in NOWHERE]
        for match in matches:
            if match is not None:
                start = max(0, match.start() - 40)
                found[text[start : start + 200].decode("ascii")] = None
    return list(found)


def path_places(content: bytes) -> Iterator[tuple[int, int]]:
    """Yield where in the texts of a binary file paths are, by start and end."""
    for run in _PRINTABLE.finditer(content):
        for pattern in (_PATH, _LIKELY_PATH, _WINDOWS):
            for match in pattern.finditer(run.group()):
                yield run.start() + match.start(), run.start() + match.end()


class Blot:
    """Overwrites what gives something away by ``x``, at equal length."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        secret = secret_pattern(secrets)
        patterns = (_PATH, _LIKELY_PATH, _WINDOWS, _IPV6, _IPV4)
        self._patterns = patterns + ((secret,) if secret is not None else ())

    def bytes(self, content: bytes) -> bytes:
        """Overwrite paths, IP addresses but a computer's own, and secrets."""
        for pattern in self._patterns:
            content = pattern.sub(_crossed, content)
        return content

    def text(self, content: str) -> str:
        """Overwrite the same in a text; where it is not ASCII its length may change."""
        encoded = content.encode("utf-8", "surrogateescape")
        return self.bytes(encoded).decode("utf-8", "surrogateescape")


def _crossed(match: re.Match[bytes]) -> bytes:
    return match.group() if match.group() in NOWHERE else b"x" * len(match.group())
