"""Tiles of a matrix product: their sizes, their order, and how one is stored."""

from __future__ import annotations

from typing import NamedTuple

import triton
import triton.language as tl


class Tile(NamedTuple):
    """A tile of C, with up to ``num_stages`` blocks of A and B in flight, stored in ``parts``."""

    block_m: int
    block_n: int
    num_warps: int = 8
    num_stages: int = 4
    parts: int = 1

    def covering(self, m: int, n: int) -> int:
        """Return how many tiles cover an m x n matrix."""
        return -(-m // self.block_m) * -(-n // self.block_n)


LARGEST = Tile(128, 256, parts=2)
"""Tile of large 16-bit products; on Hopper two groups of four warps compute 64 x 256 each."""

TILES = {
    2: (LARGEST, Tile(64, 128, num_warps=4), Tile(64, 64, num_warps=4)),
    4: (Tile(128, 256, parts=4), Tile(64, 64, num_warps=4)),
}
"""Tiles by the bytes of an element, from large to small."""


def choose(m: int, n: int, itemsize: int, processors: int) -> Tile:
    """Return the largest tile that keeps at least 4 of 5 multiprocessors busy, else the least."""
    fitting = (tile for tile in TILES[itemsize] if 5 * tile.covering(m, n) >= 4 * processors)
    return next(fitting, TILES[itemsize][-1])


@triton.jit
def place(tile, tiles_m, tiles_n, group: tl.constexpr):
    """Return row and column of the tile-th tile: down ``group`` rows, then to the next column.

    A group of one is row-major order. The last group may have fewer rows.
    """
    in_group = group * tiles_n
    first = tile // in_group * group
    height = min(tiles_m - first, group)
    position = tile % in_group
    return first + position % height, position // height


@triton.jit
def relu(x):
    """Keep NaN, as ``torch.relu`` does."""
    return tl.maximum(x, 0.0, propagate_nan=tl.PropagateNan.ALL)


@triton.jit
def halves(values):
    """Return the left and the right half of a tile."""
    height: tl.constexpr = values.shape[0]
    half: tl.constexpr = values.shape[1] // 2
    return tl.split(values.reshape(height, 2, half).permute(0, 2, 1))


@triton.jit
def store_masked(c_ptr, values, row, column, m, n):
    """Store a tile of the contiguous matrix C through pointers, as far as it lies inside."""
    rows = row.to(tl.int64) + tl.arange(0, values.shape[0])
    columns = column + tl.arange(0, values.shape[1])
    inside = (rows < m)[:, None] & (columns < n)[None, :]
    tl.store(
        c_ptr + rows[:, None] * n + columns[None, :],
        values.to(c_ptr.dtype.element_ty),
        mask=inside,
    )


@triton.jit
def store_parts(  # noqa: PLR0913, PLR0917 - a kernel has no other way to be told
    c, values, row, column, m, n, aligned: tl.constexpr, parts: tl.constexpr
):
    """Store a tile in ``parts`` pieces side by side, halving it until it is one piece.

    ``c`` is a descriptor if ``aligned``, else a pointer.
    """
    if parts > 1:
        half: tl.constexpr = values.shape[1] // 2
        left, right = halves(values)
        store_parts(c, left, row, column, m, n, aligned, parts // 2)
        store_parts(c, right, row, column + half, m, n, aligned, parts // 2)
    elif aligned:
        c.store([row, column], values.to(c.dtype))
    else:
        store_masked(c, values, row, column, m, n)
