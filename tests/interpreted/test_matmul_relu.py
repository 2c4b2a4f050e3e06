"""The matrix-product kernels under Triton's interpreter, on the CPU."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels import _matmul_streamed, matmul_relu
from kernels._matmul_streamed import Shares, readable_by_tma, share_out
from kernels._matmul_tiles import TILES, Tile, choose, place
from kernels.harness.check import judge
from kernels.harness.spec import Case, UnsupportedError
from kernels.matmul_relu import OPERATOR, streamed
from tests.interpreted.answers import assert_right, draw

KINDS = (("bfloat16", ()), ("float16", ()), ("float32", ("ieee",)), ("float32", ("tf32",)))
OWN = ("triton_basic", "triton")
SHAPES = (
    (1, 1, 1),
    (13, 24, 131),
    (127, 65, 64),
    (64, 128, 65),
    (65, 127, 33),
    (129, 63, 31),
)
SMALL = Tile(32, 32, num_warps=4, num_stages=2, parts=2)


def right(a: torch.Tensor, b: torch.Tensor, variant: str = "triton") -> None:
    dtype = str(a.dtype).removeprefix("torch.")
    case = Case((a.shape[0], b.shape[1], a.shape[1]), dtype)
    assert_right(OPERATOR, variant, case, (a, b, "ieee"))


@pytest.mark.parametrize(("dtype", "labels"), KINDS)
@pytest.mark.parametrize("variant", OWN)
@pytest.mark.parametrize("shape", SHAPES)
def test_sizes(shape: tuple[int, ...], variant: str, dtype: str, labels: tuple[str, ...]) -> None:
    assert_right(OPERATOR, variant, Case(shape, dtype, labels))


@pytest.mark.parametrize("variant", ["naive", "compiled", "triton_basic", "triton"])
@pytest.mark.parametrize("shape", [(0, 3, 4), (3, 0, 4), (0, 0, 0), (3, 4, 0), (130, 1, 0)])
def test_empty(shape: tuple[int, ...], variant: str) -> None:
    with torch.compiler.set_stance("force_eager"):
        assert_right(OPERATOR, variant, Case(shape, "bfloat16"))


@pytest.mark.parametrize("variant", ["naive", "builtin", "compiled"])
@pytest.mark.parametrize(("dtype", "labels"), KINDS)
def test_variants_of_the_library(variant: str, dtype: str, labels: tuple[str, ...]) -> None:
    with torch.compiler.set_stance("force_eager"):
        assert_right(OPERATOR, variant, Case((19, 23, 31), dtype, labels))


@pytest.mark.parametrize(
    ("block_n", "parts", "n"), [(32, 1, 88), (32, 2, 88), (32, 4, 88), (256, 1, 261)]
)
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_tiles_stored_in_parts(dtype: str, block_n: int, parts: int, n: int) -> None:
    case = Case((70, n, 40), dtype, ("tf32",))
    a, b, precision = draw(OPERATOR, case)
    c = streamed(a, b, precision, SMALL._replace(block_n=block_n, parts=parts))
    assert judge(OPERATOR, case, (a, b), c)["status"] == "ok"


@pytest.mark.parametrize(
    ("shape", "shares"),
    [
        ((32, 160, 64), Shares(5, 1, 1)),  # one tile of five, for one program alone
        ((32, 160, 64), Shares(4, 1, 2)),  # a tile in two halves
        ((32, 160, 200), Shares(4, 1, 3)),  # a tile of four steps, by a start, a middle and an end
        ((70, 100, 330), Shares(5, 2, 5)),  # ranges that end in the middle of one tile or of two
        ((70, 100, 330), Shares(7, 5, 6)),
        ((70, 100, 192), Shares(4, 3, 3)),  # ranges that are whole tiles
        ((130, 270, 130), Shares(5, 4, 5)),
    ],
)
@pytest.mark.parametrize(("dtype", "labels"), [("float16", ()), ("float32", ("tf32",))])
def test_last_wave_shared_out(
    shape: tuple[int, ...], shares: Shares, dtype: str, labels: tuple[str, ...]
) -> None:
    case = Case(shape, dtype, labels)
    a, b, precision = draw(OPERATOR, case)
    for block_n in (32, 128):
        tile = SMALL._replace(block_n=block_n)
        if tile.covering(shape[0], shape[1]) >= shares.shared:
            c = streamed(a, b, precision, tile, shares)
            assert judge(OPERATOR, case, (a, b), c)["status"] == "ok"


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 3000), st.integers(1, 300), st.integers(1, 160))
def test_shares_cover_all_tiles_with_ranges_of_a_tile_at_most(
    tiles: int, steps: int, processors: int
) -> None:
    programs, shared, sharers = share_out(tiles, steps, processors)
    assert 1 <= programs <= min(processors, tiles)
    assert sharers <= programs
    assert shared * steps <= sharers * steps
    assert (shared > 0) == (sharers > 0)
    most = -(-(tiles - shared) // programs)
    assert most <= -(-tiles // processors) - (shared > 0)


@pytest.mark.parametrize(
    ("tiles", "steps", "expected"),
    [
        (512, 64, Shares(128)),  # four waves, of 128 programs as of 132
        (2048, 128, Shares(132, 68, 132)),  # 15 waves and a half
        (1376, 64, Shares(132, 56, 112)),  # 10 waves and less than half of one: halves of tiles
        (133, 64, Shares(132, 1, 4)),  # the shares of one tile stay worth their exchange
        (133, 24, Shares(67)),  # two waves of few steps
        (132, 64, Shares(132)),
        (100, 64, Shares(100)),
        (1, 1, Shares(1)),
    ],
)
def test_last_wave_is_shared_where_that_pays(tiles: int, steps: int, expected: Shares) -> None:
    assert share_out(tiles, steps, 132) == expected


@triton.jit  # type: ignore[untyped-decorator]
def count_kernel(seen_ptr: Any, tiles_m: Any, tiles_n: Any, group: tl.constexpr) -> None:
    tile_m, tile_n = place(tl.program_id(0), tiles_m, tiles_n, group)
    tl.store(seen_ptr + tile_m * tiles_n + tile_n, tl.program_id(0) + 1)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 6))
def test_each_tile_is_placed_once(tiles_m: int, tiles_n: int, group: int) -> None:
    order = torch.zeros(tiles_m * tiles_n, dtype=torch.int32)
    count_kernel[(tiles_m * tiles_n,)](order, tiles_m, tiles_n, group)
    assert sorted(order.tolist()) == list(range(1, tiles_m * tiles_n + 1))
    if group == 1:
        assert order.tolist() == sorted(order.tolist())


def test_groups_of_rows_go_down_before_they_go_across() -> None:
    order = torch.zeros(6, dtype=torch.int32)
    count_kernel[(6,)](order, 3, 2, 2)
    assert order.view(3, 2).tolist() == [[1, 3], [2, 4], [5, 6]]


@pytest.mark.parametrize("variant", OWN)
def test_not_contiguous(variant: str) -> None:
    whole = torch.randn(140, 140).bfloat16()
    a, b = whole[:70, :66], whole[:66, :50]
    right(whole[:66, :70].t(), b, variant)
    right(a, whole[:50, :66].t(), variant)
    right(whole[1:71, 3:69], whole[5:71, 7:57], variant)
    right(whole[:70, ::2], whole[::2, ::3], variant)
    right(a[:1].expand(70, -1), b[:, :1].expand(-1, 50), variant)


def test_tf32_takes_b_in_any_order() -> None:
    a, whole = torch.randn(40, 36), torch.randn(80, 80)
    for b in (whole[:36, :44], whole[:44, :36].t(), whole[:72:2, 3:47]):
        assert_right(OPERATOR, "triton", Case((40, 44, 36), "float32", ("tf32",)), (a, b, "tf32"))


def test_offset_of_the_first_element() -> None:
    flat = torch.randn(1 + 64 * 64).bfloat16()
    right(flat[1:].view(64, 64), flat[:-1].view(64, 64))


def test_matrices_that_tma_reads_are_not_copied() -> None:
    a = torch.randn(10, 64).bfloat16()
    assert readable_by_tma(a) is a
    view = torch.randn(10, 80).bfloat16()[:, 8:72]
    assert readable_by_tma(view) is view


@pytest.mark.parametrize("shape", [(5, 33), (1, 7), (64, 4097)])
def test_other_matrices_are_copied_into_rows_of_whole_cache_lines(shape: tuple[int, int]) -> None:
    x = torch.randn(shape).bfloat16()
    copied = readable_by_tma(x)
    assert torch.equal(copied, x)
    assert copied.stride(1) == 1
    assert copied.stride(0) * 2 % 128 == 0


@pytest.mark.parametrize("variant", OWN)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_special_values_answer_as_torch_does(variant: str, dtype: torch.dtype) -> None:
    a, b = torch.randn(12, 16), torch.randn(16, 40)
    a[0, 0], a[1, 1], a[2, 2], a[3, 3] = math.nan, math.inf, -math.inf, 1e-40
    a[4], a[5], a[6] = 6e4, -6e4, 0.0
    a[7], b[:, 7] = 1e-7, 1e-3
    b[3, 5], b[2, 6] = math.nan, math.inf
    a, b = a.to(dtype), b.to(dtype)
    expected = torch.relu(a.float() @ b.float()).to(dtype)
    assert expected.isnan().any()
    assert expected.isinf().any()
    result = OPERATOR.variant(variant).run(a, b, "ieee")
    assert isinstance(result, torch.Tensor)
    torch.testing.assert_close(result, expected, equal_nan=True, rtol=2e-3, atol=2e-3)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 30), st.sampled_from(KINDS))
def test_any_shape(m: int, n: int, k: int, kind: tuple[str, tuple[str, ...]]) -> None:
    dtype, labels = kind
    case = Case((m, n, k), dtype, labels)
    assert_right(OPERATOR, "triton_basic", case)
    a, b, precision = draw(OPERATOR, case)
    result = judge(OPERATOR, case, (a, b), streamed(a, b, precision, SMALL))
    assert result["status"] == "ok", result["reason"]


@pytest.mark.parametrize(
    ("major", "dtype"), [(8, "bfloat16"), (12, "bfloat16"), (8, "float32"), (9, "float32")]
)
def test_pointers_where_tma_or_tensor_cores_are_missing(
    major: int, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matmul_relu, "chip", lambda _device: (major, 3))
    monkeypatch.setattr(_matmul_streamed, "TensorDescriptor", None)
    assert_right(OPERATOR, "triton", Case((130, 140, 20), dtype, ("ieee",)))


@pytest.mark.parametrize("shape", [(4, 1, 9), (4, 9, 1), (4, 9, 0)])
def test_builtin_refuses_what_the_library_does_not_fuse(shape: tuple[int, ...]) -> None:
    variant = OPERATOR.variant("builtin")
    prepared = variant.prepare(draw(OPERATOR, Case(shape, "bfloat16")))
    with pytest.raises(UnsupportedError, match="k and n of at least 2"):
        variant.run(*prepared)


@pytest.mark.parametrize(("precision", "meant"), [("tf32", "high"), ("ieee", "highest")])
def test_precision_holds_for_the_call_alone(
    precision: str, meant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def note(*_: Any) -> None:
        seen.append(torch.get_float32_matmul_precision())
        raise RuntimeError("stop")

    monkeypatch.setattr(matmul_relu, "two_steps", note)
    before = torch.get_float32_matmul_precision()
    with pytest.raises(RuntimeError, match="stop"):
        matmul_relu.naive(torch.ones(2, 2), torch.ones(2, 2), precision)
    assert seen == [meant]
    assert torch.get_float32_matmul_precision() == before


def test_labels_name_the_precision() -> None:
    shape = (4, 4, 4)
    assert draw(OPERATOR, Case(shape, "float32", ("tf32",)))[2] == "tf32"
    assert draw(OPERATOR, Case(shape, "float32", ("ieee",)))[2] == "ieee"
    assert draw(OPERATOR, Case(shape, "bfloat16"))[2] == "ieee"


@pytest.mark.parametrize(
    ("n", "extents"),
    [(64, (64, 64)), (512, (64, 64)), (1024, (64, 128)), (2048, (128, 256)), (8192, (128, 256))],
)
def test_the_largest_tile_that_fills_the_chip_is_chosen(n: int, extents: tuple[int, int]) -> None:
    tile = choose(n, n, 2, 132)
    assert (tile.block_m, tile.block_n) == extents
    assert n < 1024 or tile.covering(n, n) >= 105


def test_shared_memory_holds_the_blocks_and_a_part_of_the_tile() -> None:
    for itemsize, tiles in TILES.items():
        for tile in tiles:
            blocks = (tile.block_m + tile.block_n) * 128 * tile.num_stages
            stored = tile.block_m * tile.block_n // tile.parts * itemsize
            assert blocks + stored < 227 * 1024


@pytest.mark.parametrize(("dtype", "labels"), KINDS)
@pytest.mark.parametrize("k", [16, 1024])
def test_a_missing_product_is_beyond_the_tolerance(
    k: int, dtype: str, labels: tuple[str, ...]
) -> None:
    case = Case((64, 64, k), dtype, labels)
    a, b, _ = draw(OPERATOR, case)
    short = matmul_relu.reference(a[:, 1:], b[1:]).to(a.dtype)
    assert judge(OPERATOR, case, (a, b), short)["status"] == "wrong"


def test_cost_counts_each_matrix_once() -> None:
    found = matmul_relu.cost(Case((2, 3, 5), "bfloat16"))
    assert (found.read_bytes, found.write_bytes, found.flops, found.summed) == (50, 12, 60, 5)
