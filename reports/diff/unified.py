"""PTX and SASS without what a person does not compare, and unified diffs of them.

Addresses, encodings, comments, debug directives and padding go. Names that the assembler or LLVM
only numbers, labels and PTX's virtual registers, are the base's wherever the code around them is:
one more label must not make each later branch a difference. SASS registers stay as they are: they
are places in the register file, and which are taken decides pressure, banks and the pairs and
quadruples that wide accesses need, so to renumber them would hide a difference.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from difflib import SequenceMatcher, unified_diff
from itertools import count, pairwise
from typing import Literal

Kind = Literal["ptx", "sass"]
Name = tuple[str, str]
KINDS: tuple[Kind, ...] = ("sass", "ptx")

ABSENT = "/dev/null"
"""What stands for the name of a text that one side lacks, as in git's diffs."""

_NAMES = {
    "ptx": re.compile(r"(\$L__BB\d+_|\$L_brx_|%(?:rs|rd|rq|r|fd|f|p|hh|h)(?=\d))(\d+)\b"),
    "sass": re.compile(r"(\.L_(?:x_)?|\$__internal_)(\d+)"),
}
"""Numbered names that mean nothing but themselves: what they begin with, and the number."""

_DEBUG_SECTION = re.compile(r"^\s*\.section\s+\.debug_", re.MULTILINE)
_PTX_COMMENT = re.compile(r'^((?:"[^"]*"|[^"])*?)//.*$')
_PTX_DEBUG = re.compile(r"\.(?:loc|file)\b|\$L__(?:tmp|func_begin|func_end)\d+:$")

_ADDRESS = re.compile(r"/\*([0-9a-f]{4,})\*/")
_COMMENT = re.compile(r"/\*.*?\*/")
_PREDICATED = re.compile(r"(?:(@!?U?P\w+) )?(.*)")
_PADDING = "NOP;"
"""What fills a function up; an instruction has a space before its semicolon."""

_CALL = re.compile(r"(?:@\S+ +)?CALL\.REL")
_OFFSET = re.compile(r"^(BRX\S* \S+) -?0x[0-9a-f]+ (?=\(\*)")
_TABLE = r"\1 "
_REACH = 8
"""Instructions before a call among which the return address is set."""


def code_lines(text: str, kind: Kind) -> list[str]:
    """Return the lines of a PTX or SASS text that say what runs.

    Parameters
    ----------
    text
        PTX as LLVM writes it, or SASS as ``nvdisasm -c`` does, with or without encodings.

    Returns
    -------
    list
        Lines without their ends. Labels stand at the margin; a return address, which is an
        instruction's own place, reads ``RETURN``, and a branch to a table has no offset.
    """
    return _ptx(text) if kind == "ptx" else _sass(text)


def unified(
    base: str | None, head: str | None, kind: Kind, names: tuple[str, str], context: int = 3
) -> list[str]:
    """Return the lines of a unified diff of two texts; none where the code is the same.

    Parameters
    ----------
    base, head
        The texts; None where there is none.
    names
        What the diff calls them.
    context
        Equal lines around each difference.
    """
    if base == head:
        return []
    before, after = ([] if text is None else code_lines(text, kind) for text in (base, head))
    after = _renamed(before, after, kind)
    old, new = (
        ABSENT if text is None else name for text, name in zip((base, head), names, strict=True)
    )
    return list(unified_diff(before, after, old, new, n=context, lineterm=""))


def changed(lines: list[str]) -> tuple[int, int]:
    """Return how many lines a unified diff adds and removes."""
    body = lines[2:]
    return sum(line[0] == "+" for line in body), sum(line[0] == "-" for line in body)


def _ptx(text: str) -> list[str]:
    lines = []
    for line in _DEBUG_SECTION.split(text, maxsplit=1)[0].splitlines():
        words = _words(_PTX_COMMENT.sub(r"\1", line))
        if words and not _PTX_DEBUG.match(words):
            lines.append(f"    {words}" if line[0].isspace() else words)
    return lines


def _sass(text: str) -> list[str]:
    lines: list[str] = []
    places: list[int | None] = []
    for line in text.splitlines():
        words = _words(_COMMENT.sub("", line))
        if not words or words.startswith("//") or words == _PADDING:
            continue
        address = _ADDRESS.search(line)
        if address is not None:
            predicate, instruction = _PREDICATED.fullmatch(words).groups(default="")  # type: ignore[union-attr]
            words = f"{predicate:>9} {_OFFSET.sub(_TABLE, instruction)}"
        elif line[0].isspace():
            words = f"    {words}"
        lines.append(words)
        places.append(None if address is None else int(address[1], 16))
    return _without_return_addresses(lines, places)


def _words(line: str) -> str:
    return " ".join(line.split())


def _without_return_addresses(lines: list[str], places: list[int | None]) -> list[str]:
    """Replace the address behind a call, which an instruction shortly before puts in a register."""
    shown = list(lines)
    instructions = [at for at, place in enumerate(places) if place is not None]
    for nth, (at, behind) in enumerate(pairwise(instructions)):
        if _CALL.search(lines[at]):
            target = re.compile(rf"\b{places[behind]:#x}\b")
            for before in reversed(instructions[max(0, nth - _REACH) : nth]):
                shown[before], found = target.subn("RETURN", lines[before])
                if found:
                    break
    return shown


def _renamed(base: list[str], head: list[str], kind: Kind) -> list[str]:
    """Give the head's numbered names those that the base has in the same places.

    Two names never become one: a name of the head gets that which stands in its place most often
    and is free; those without one get numbers that the base does not have.
    """
    pattern = _NAMES[kind]
    taken: dict[Name, Name] = {}
    ours: dict[Name, Name] = {}
    for (theirs, own), _ in _together(base, head, pattern).most_common():
        if own not in ours and theirs not in taken:
            ours[own], taken[theirs] = theirs, own
    unused = _numbers_behind(pattern.findall("\n".join(base)))

    def name(match: re.Match[str]) -> str:
        found = match[1], match[2]
        if found not in ours:
            ours[found] = found[0], str(next(unused[found[0]]))
        return "".join(ours[found])

    return [pattern.sub(name, line) for line in head]


def _together(
    base: list[str], head: list[str], pattern: re.Pattern[str]
) -> Counter[tuple[Name, Name]]:
    """Count which names of base and head stand in the same place of lines that are else alike."""
    before, after = ([pattern.sub(r"\1#", line) for line in lines] for lines in (base, head))
    found: Counter[tuple[Name, Name]] = Counter()
    for block in SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks():
        for offset in range(block.size):
            lines = base[block.a + offset], head[block.b + offset]
            found.update(zip(*(pattern.findall(line) for line in lines), strict=True))
    return found


def _numbers_behind(names: list[Name]) -> defaultdict[str, Iterator[int]]:
    """Return for each stem the numbers that follow the largest one in use."""
    largest: Counter[str] = Counter()
    for stem, number in names:
        largest[stem] = max(largest[stem], int(number) + 1)
    behind: defaultdict[str, Iterator[int]] = defaultdict(count)
    behind.update({stem: count(number) for stem, number in largest.items()})
    return behind
