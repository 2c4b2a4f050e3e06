"""NVTX ranges that a launch profiled by Nsight Compute was in.

Nsight Compute records of each launch which ranges were open in each domain: push/pop ranges of the
launching thread, from outside in, and start/end ranges of the process. It does not record which of
two domains' ranges was opened first, nor whether a start/end range was opened before a push/pop
range of its domain; a push/pop range, which is the thread's own, is taken for the inner one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pandas as pd

from parsers.contract import DOMAIN, split_range
from parsers.nsys_ranges import SEPARATOR

DEFAULT_DOMAIN = "<default domain>"
"""What Nsight Compute calls the domain that has no name."""

_KEY = ["operator", "variant", "case"]
_COLUMNS = [*_KEY, "domain", "range", "range_path"]

_SAME_MESSAGE = re.compile(
    r"(?P<domain>.*?):(?P<name>.*):\w+:.*?:\w+:\w+:(?!none:)\w+:(?P=name)", re.DOTALL
)
_FIELDS = re.compile(r"(?P<domain>[^:]*):(?P<name>.*)(?::[^:]*){6}", re.DOTALL)
_ID = re.compile(r"^\d+:")
_BLOCK = re.compile(r"^ *NVTX (?P<kind>Push/Pop|Start/End) .*:$")
_PRINTED = re.compile(r"<\d+,(?P<name>.*)>")

Pairs = list[tuple[str, str]]
"""Domain and name of ranges, an inner one later."""


class Domain(NamedTuple):
    """The open ranges of a domain, by name, an inner one later."""

    name: str
    push_pop: tuple[str, ...] = ()
    start_end: tuple[str, ...] = ()


Open = tuple[Domain, ...]
"""The domains of a launch; one may have no open ranges."""


def attribute(launches: Sequence[Open]) -> tuple[pd.DataFrame, list[str]]:
    """Say of each launch which range it belongs to.

    Parameters
    ----------
    launches
        The domains of each launch, in the order in which they were profiled.

    Returns
    -------
    tuple
        Text columns of `parsers.schemas.COUNTERS`, NA where there is none, index from 0, and notes.
        ``operator``, ``variant`` and ``case`` come from the innermost range of that form of the
        harness's domain, whatever else is open, and ``launch`` counts within them. ``domain`` and
        ``range`` are of the innermost range, ``range_path`` names all of them from outside in.
        Where ranges of several domains are open, which was opened last is not known: the range is
        the harness's if it is one of them, else NA with a note, and the path is NA.
    """
    number = {domains: place for place, domains in enumerate(dict.fromkeys(launches))}
    told = pd.DataFrame([_told(domains) for domains in number], columns=_COLUMNS, dtype="string")
    frame = told.take([number[domains] for domains in launches]).reset_index(drop=True)
    frame["launch"] = frame.dropna(subset=_KEY).groupby(_KEY).cumcount()
    undecided = {domains for domains in number if _with_ranges(domains) and not _chosen(domains)}
    if not undecided:
        return frame, []
    count = sum(domains in undecided for domains in launches)
    note = (
        f"{count} of {len(launches)} launches were in ranges of several NVTX domains, whose order "
        "Nsight Compute does not record: they have no range"
    )
    return frame, [note]


def of_cells(push_pop: str, start_end: str) -> Open:
    """Read the ranges of a launch from the two cells of a CSV export, which may be empty."""
    return _opened(
        [pair for entry in _entries(push_pop) for pair in _pair(entry)],
        [pair for entry in _entries(start_end) for pair in _pair(_ID.sub("", entry))],
    )


def of_page(body: str) -> Open:
    """Read the ranges of a launch from the lines that a printed page has below it.

    A block has domains below its title, and ranges ``<number,name>`` below each; what is deeper
    are attributes of a range. A line that is no deeper than the title ends it.
    """
    pairs: dict[str, Pairs] = {"Push/Pop": [], "Start/End": []}
    kind, title, level, domain = "", 0, 0, ""
    for line in body.split("\n"):
        text = line.strip()
        depth = len(line) - len(line.lstrip())
        if found := _BLOCK.match(line.rstrip()):
            kind, title, level = found["kind"], depth, 0
        elif kind and depth <= title:
            kind = ""
        elif kind and (not level or depth <= level):
            level, domain = depth, text
        elif kind and (named := _PRINTED.fullmatch(text)):
            pairs[kind].append((domain, named["name"]))
    return _opened(*pairs.values())


def _entries(cell: str) -> list[str]:
    """Return what stands in quotes in a cell; names may hold quotes, too."""
    first, last = cell.find('"'), cell.rfind('"')
    return re.split(r'"\s+"', cell[first + 1 : last]) if last > first else []


def _pair(entry: str) -> Iterator[tuple[str, str]]:
    """Yield domain and name of ``Domain:Range`` and six fields more, all separated by colons.

    The last is the message, which is the name again where a range has one; names may hold colons.
    """
    found = _SAME_MESSAGE.fullmatch(entry) or _FIELDS.fullmatch(entry)
    if found:
        yield found["domain"], found["name"]


def _opened(push_pop: Pairs, start_end: Pairs) -> Open:
    names = dict.fromkeys(domain for domain, _ in (*push_pop, *start_end))
    return tuple(
        Domain(
            name,
            tuple(inner for domain, inner in push_pop if domain == name),
            tuple(inner for domain, inner in start_end if domain == name),
        )
        for name in names
    )


def _told(domains: Open) -> tuple[str | None, ...]:
    """Return the values of `_COLUMNS`."""
    ours = [domain for domain in domains if domain.name == DOMAIN]
    names = [name for domain in ours for name in domain.start_end]
    names += [name for domain in ours for name in domain.push_pop]
    keys = [parts for name in names if (parts := split_range(name)) is not None]
    key: tuple[str | None, ...] = keys[-1] if keys else (None, None, None)
    chosen = _chosen(domains)
    if chosen is None:
        return (*key, None, None, None)
    path = (*chosen.start_end, *chosen.push_pop)
    alone = len(_with_ranges(domains)) == 1
    return (
        *key,
        None if chosen.name == DEFAULT_DOMAIN else chosen.name,
        path[-1] or None,
        SEPARATOR.join(path) if alone else None,
    )


def _chosen(domains: Open) -> Domain | None:
    """Return the domain whose innermost range a launch belongs to, where that is known."""
    there = _with_ranges(domains)
    if len(there) == 1:
        return there[0]
    return next((domain for domain in there if domain.name == DOMAIN), None)


def _with_ranges(domains: Open) -> list[Domain]:
    return [domain for domain in domains if domain.push_pop or domain.start_end]
