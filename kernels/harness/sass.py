"""Read facts from SASS, the machine code of a GPU, as ``nvdisasm`` prints it.

An instruction is a line such as ``/*0130*/ @!P0 LDG.E.128 R8, desc[UR4][R12.64] ;``: an address,
perhaps a predicate, then the opcode, whose parts are joined by dots. The first part is the root.
Opcodes are listed in NVIDIA's "CUDA Binary Utilities", section "Instruction Set Reference".
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+\{?\s*(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.a-z]*)")

_BODY = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(.*\S)")

# Loads and stores of global memory by a thread. LDGSTS copies from global to shared memory; LD
# and ST take generic addresses. TMA (UTMALDG, UBLKCP) moves tiles and has no width of a thread.
GLOBAL_LOADS = frozenset({"LDG", "LD", "LDGSTS"})
GLOBAL_STORES = frozenset({"STG", "ST"})
# Local memory is where registers spill to; a local array that is indexed at run time is there too.
SPILL_LOADS = frozenset({"LDL"})
SPILL_STORES = frozenset({"STL"})

_WIDTHS = {"U8": 8, "S8": 8, "U16": 16, "S16": 16, "64": 64, "128": 128, "256": 256}
_DEFAULT_WIDTH = 32


@dataclass(frozen=True)
class Summary:
    """What the SASS of a kernel says.

    Attributes
    ----------
    instructions
        Number of instructions, without the NOPs that pad the end.
    load_bits, store_bits
        Widest global load and store of a thread, in bits; None where there is none.
    spill_loads, spill_stores
        Number of loads from and stores to local memory.
    tensor_opcodes
        Number of tensor-core instructions by root opcode, such as ``HGMMA``.
    """

    instructions: int
    load_bits: int | None
    store_bits: int | None
    spill_loads: int
    spill_stores: int
    tensor_opcodes: dict[str, int]

    @property
    def tensor_instructions(self) -> int:
        """Number of tensor-core instructions."""
        return sum(self.tensor_opcodes.values())


def opcodes(text: str) -> list[str]:
    """Return the opcode of each instruction with its modifiers, such as ``LDG.E.128``.

    NOPs are left out: they pad a function to a multiple of 128 bytes.
    """
    matches = (_INSTRUCTION.match(line) for line in text.splitlines())
    found = (match[1].rstrip(".") for match in matches if match)
    return [opcode for opcode in found if opcode != "NOP"]


def root(opcode: str) -> str:
    """Return the first part of an opcode."""
    return opcode.partition(".")[0]


def width_bits(opcode: str) -> int:
    """Return how many bits a thread moves by a load or store: 32 where the opcode names no width.

    >>> width_bits("LDG.E.ENL2.256")
    256
    """
    _, *modifiers = opcode.split(".")
    return next((_WIDTHS[part] for part in modifiers if part in _WIDTHS), _DEFAULT_WIDTH)


def widest_bits(found: Iterable[str], roots: frozenset[str]) -> int | None:
    """Return the greatest width in bits among the opcodes of these roots, or None."""
    return max((width_bits(opcode) for opcode in found if root(opcode) in roots), default=None)


def count(found: Iterable[str], roots: frozenset[str]) -> int:
    """Return how many of the opcodes have one of these roots."""
    return sum(root(opcode) in roots for opcode in found)


def tensor_opcodes(found: Iterable[str]) -> dict[str, int]:
    """Count tensor-core instructions by root opcode, sorted.

    These are the opcodes that end in MMA: HMMA, IMMA, DMMA and BMMA of a warp, HGMMA, IGMMA,
    QGMMA and BGMMA of a warpgroup (sm_90), UTCHMMA, UTCIMMA, UTCQMMA and UTCOMMA (sm_100).
    """
    roots = Counter(map(root, found))
    return {opcode: roots[opcode] for opcode in sorted(roots) if opcode.endswith("MMA")}


def sha256(text: str) -> str:
    """Return the SHA-256, in hexadecimal, of the instructions with their operands.

    Addresses are left out, and what is no instruction: equal hashes are the same code.
    """
    bodies = (_BODY.match(line) for line in text.splitlines())
    code = "\n".join(body[1] for body in bodies if body)
    return hashlib.sha256(code.encode()).hexdigest()


def summarise(text: str) -> Summary:
    """Read all of it from the SASS of one kernel."""
    found = opcodes(text)
    return Summary(
        instructions=len(found),
        load_bits=widest_bits(found, GLOBAL_LOADS),
        store_bits=widest_bits(found, GLOBAL_STORES),
        spill_loads=count(found, SPILL_LOADS),
        spill_stores=count(found, SPILL_STORES),
        tensor_opcodes=tensor_opcodes(found),
    )
