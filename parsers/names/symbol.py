"""A kernel's name taken apart as C++: the dialects of demanglers, qualified name, template."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

_UNNAMED = re.compile(r"(?:<unnamed>|\(anonymous namespace\)|\{anonymous\})::")
_CAST = re.compile(r"\((?:unsigned |signed )?(?:bool|char|short|int|long|long long)\)(?=-?\d)")
_SUFFIX = re.compile(r"\b(\d+)(?:u|l|ul|ll|ull)\b", re.IGNORECASE)
_LAMBDA = re.compile(r"\[lambda(\([^()]*\)) \(instance \d+\)\]|\{lambda(\([^()]*\))#\d+\}")
_BRACKET = re.compile(r"[<>(){}\[\] ]")
_MANGLED_PART = re.compile(r"(?:S[a-z]|N)*K?(\d{1,4})")


@dataclass(frozen=True)
class Symbol:
    """A name in one spelling, whichever tool demangled it.

    Nsight, c++filt and torch's profiler write ``(int)4``, ``4`` and ``4``; ``<unnamed>::`` and
    ``(anonymous namespace)::``; ``[lambda(float) (instance 1)]`` and ``{lambda(float)#1}``.
    """

    raw: str

    @cached_property
    def text(self) -> str:
        """The name with casts, suffixes of numbers and unnamed namespaces left out."""
        plain = _UNNAMED.sub("", self.raw.strip())
        plain = _SUFFIX.sub(r"\1", _CAST.sub("", plain))
        plain = _LAMBDA.sub(lambda found: f"[lambda{found[1] or found[2]}]", plain)
        plain = plain.replace("operator ()", "operator()")
        return plain.replace("> >", ">>").replace("> >", ">>")

    @cached_property
    def _parts(self) -> tuple[str, str]:
        if self.text.startswith("_Z"):
            return _mangled_name(self.text), ""
        return _split(self.text)

    @property
    def qualified(self) -> str:
        """The function with its namespaces: ``at::native::reduce_kernel``."""
        return self._parts[0]

    @property
    def template(self) -> str:
        """The function's template arguments, without the brackets around them."""
        return self._parts[1]

    @property
    def base(self) -> str:
        """The function alone: ``reduce_kernel``."""
        return self.qualified.rsplit("::", maxsplit=1)[-1]

    @property
    def function(self) -> str:
        """The function without the word kernel at its end: ``DeviceScan``."""
        return re.sub(r"(?<=.)_?[kK]ernel$", "", self.base)

    @property
    def plain(self) -> bool:
        """Whether the name is an identifier: C or Triton, not C++."""
        return self.text.isidentifier()


def _split(text: str) -> tuple[str, str]:
    """Return the qualified name and the last template arguments before the parameter list."""
    depth, last, opened = 0, 0, 0
    parts: list[str] = []
    template = ""
    for found in _BRACKET.finditer(text):
        bracket, at = found[0], found.start()
        if bracket in "<({[":
            if depth == 0:
                parts.append(text[last:at])
                opened = at + 1
                if bracket == "(" and "".join(parts):
                    return "".join(parts), template
            depth += 1
        elif bracket != " ":
            depth = max(depth - 1, 0)
            if depth == 0:
                template, last = text[opened:at], found.end()
        elif depth == 0:
            # What came before the space is the type of the result, such as void.
            parts, template, last = [], "", found.end()
    parts.append(text[last:] if depth == 0 else "")
    return "".join(parts), template


def arguments(template: str) -> list[str]:
    """Split template arguments at the commas between them, not at those within one."""
    depth, start, found = 0, 0, []
    for mark in re.finditer(r"[<>(){}\[\],]", template):
        if mark[0] == ",":
            if depth == 0:
                found.append(template[start : mark.start()].strip())
                start = mark.end()
        else:
            depth += 1 if mark[0] in "<({[" else -1
    return [*found, template[start:].strip()]


def _mangled_name(text: str) -> str:
    """Read the qualified name, without template arguments, from a mangled one (Itanium ABI)."""
    at, parts = 2, []
    while part := _MANGLED_PART.match(text, at):
        at = part.end() + int(part[1])
        name = text[part.end() : at]
        if not name.startswith("_GLOBAL__N_"):
            parts.append(name)
        if not text.startswith("_ZN"):
            break
    return "::".join(parts)
