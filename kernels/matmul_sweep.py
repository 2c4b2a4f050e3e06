"""Matrix product and ReLU over many sizes: where constant time ends, and what edges cost.

The variants of `kernels.matmul_relu` but for the compiled one, which is tuned anew for each shape
for half a minute. Two sweeps, told apart by their cases' labels:

``cubic``
    n**3 for n from 256 to 8192. Small products take as long as a launch and one walk along k,
    whatever their size; once the tiles fill the multiprocessors, each doubling takes eight times
    as long.

``waves``
    All with k = 4096. Tiles of C are handed to the multiprocessors in waves, and the last wave
    takes as long as a full one: one tile more than a whole number of waves costs a wave more,
    unless the tile is shared out along k, as ``triton`` does. The shapes have exactly 1 and 4 waves
    of Triton's large tiles, and one tile more, and of its small tiles one more than a wave; a
    library with other tiles has its steps elsewhere. Then 4096 against 4097: one row and column
    more are a row and a column of tiles more, and rows that start at odd multiples of 2 bytes,
    which neither TMA nor loads of 16 bytes can read.
"""

from __future__ import annotations

from kernels._matmul_tiles import LARGEST, TILES, Tile
from kernels.harness.spec import Case, Operator
from kernels.matmul_relu import VARIANTS, cost, make_inputs, reference, tolerance

MULTIPROCESSORS = 132
"""Of the SXM modules of H100 and H200. On another GPU these shapes are no whole waves."""

DEPTH = 4096
"""Extent of k in the sweep of waves."""


def tiled(tiles_m: int, tiles_n: int, tile: Tile = LARGEST, first_in: str = "default") -> Case:
    """Return the case whose C has so many tiles along m and along n."""
    shape = (tiles_m * tile.block_m, tiles_n * tile.block_n, DEPTH)
    return Case(shape, "bfloat16", labels=("waves",), first_in=first_in)


def cube(n: int, label: str) -> Case:
    """Return the case of n**3."""
    return Case((n, n, n), "bfloat16", labels=(label,), first_in="quick" if n == 256 else "default")


SMALLEST = TILES[2][-1]

WAVES = ((11, 12), (7, 19), (22, 24), (23, 23))
"""Tiles along m and n: `MULTIPROCESSORS` and one more, four times as many and one more."""

OPERATOR = Operator(
    name="matmul_sweep",
    summary="Matrix product and ReLU from 256³ to 8192³, and around whole waves",
    variants=tuple(v for v in VARIANTS if v.name in {"naive", "builtin", "triton"}),
    axes=("m", "n", "k"),
    cases=(
        *(cube(n, "cubic") for n in (256, 512, 1024, 2048, 4096, 8192)),
        *(tiled(tiles_m, tiles_n) for tiles_m, tiles_n in WAVES),
        tiled(7, 19, SMALLEST, first_in="quick"),
        *(cube(n, "waves") for n in (4096, 4097)),
    ),
    make_inputs=make_inputs,
    reference=reference,
    cost=cost,
    tolerance=tolerance,
)
