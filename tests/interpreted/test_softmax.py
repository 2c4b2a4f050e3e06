"""The softmax kernels under Triton's interpreter, on the CPU."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels import _softmax_resident, softmax
from kernels._softmax_resident import resident
from kernels._softmax_split import split
from kernels.harness.spec import Case, UnsupportedError
from kernels.softmax import OPERATOR, online, whole_rows
from tests.interpreted import at_once
from tests.interpreted.answers import Unlaunched, assert_right, draw, guarded

DTYPES = ("float32", "bfloat16", "float16")
VARIANTS = ("triton", "triton_online", "triton_split", "triton_resident")
# A program of one warp: float32 pieces of 128 columns, tiles of 256, of which L1 is to keep two,
# and an end of up to 512.
tiled = partial(online, depth=2, held=4, num_warps=1, near=2048)
TILE, END = 256, 512
pieces = partial(split, block=128, lag=2, num_warps=1)
held = partial(resident, block=128, programs=11)
Function = Callable[[torch.Tensor], torch.Tensor]
FUNCTIONS = (whole_rows, online, tiled, pieces, held)


@pytest.fixture(scope="module", autouse=True)
def _programs_at_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        at_once.install(patch, "resident_kernel")
        yield


def close(actual: torch.Tensor, expected: torch.Tensor) -> None:
    """Compare with one rounding of the dtype, and of float32 arguments of exp as large as 200.

    The interpreter cuts off what bfloat16 has not.
    """
    rtol = {torch.float32: 2e-5, torch.bfloat16: 2**-7, torch.float16: 2**-10}[actual.dtype]
    atol = 2**-24 if actual.dtype == torch.float16 else 1e-30
    torch.testing.assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=True)


def right(function: Function, x: torch.Tensor) -> None:
    before = x.clone()
    close(function(x), torch.softmax(x.double(), dim=1).to(x.dtype))
    assert torch.equal(x.nan_to_num(), before.nan_to_num())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("columns", [1, 2, 255, 256, 257, 1021, 4099])
@pytest.mark.parametrize("variant", VARIANTS)
def test_columns(variant: str, columns: int, dtype: str) -> None:
    assert_right(OPERATOR, variant, Case((3, columns), dtype))


@pytest.mark.parametrize("rows", [1, 2, 31, 32, 33])
@pytest.mark.parametrize("function", [whole_rows, tiled, pieces, held])
def test_rows(function: Function, rows: int) -> None:
    right(function, torch.randn(rows, 37))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("end", [-1, 0, 1])
@pytest.mark.parametrize("tiles", [0, 1, 3])
def test_edges_of_tiles(tiles: int, end: int, dtype: str) -> None:
    scale = 4 // getattr(torch, dtype).itemsize
    right(tiled, torch.randn(2, scale * (END + tiles * TILE) + end).to(getattr(torch, dtype)))


@pytest.mark.parametrize("programs", [1, 2, 100])
def test_programs_share_the_rows(programs: int) -> None:
    right(partial(tiled, programs=programs), torch.randn(5, 800))


@pytest.mark.parametrize("columns", [127, 128, 257])
@pytest.mark.parametrize("lag", [1, 4, 5, 9])
def test_every_piece_is_summarised_before_it_is_written(lag: int, columns: int) -> None:
    right(partial(split, block=128, lag=lag), torch.randn(5, columns))


@pytest.mark.parametrize("columns", [128, 129, 384, 500])
@pytest.mark.parametrize("programs", [4, 5, 13])
def test_rows_may_begin_and_end_in_any_round(programs: int, columns: int) -> None:
    right(partial(resident, block=128, programs=programs), torch.randn(11, columns))


def test_more_pieces_than_programs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_softmax_resident, "resident_kernel", Unlaunched())
    with pytest.raises(UnsupportedError, match="rows of 641 columns; up to 640 are supported"):
        resident(torch.ones(2, 641), block=128, programs=5)


@pytest.mark.parametrize("rows", [1, 3, 16])
def test_rows_of_a_program(rows: int) -> None:
    right(lambda x: whole_rows(x, rows=2 ** rows.bit_length()), torch.randn(rows + 18, 40))


@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (0, 0)])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_empty(function: Function, shape: tuple[int, int]) -> None:
    assert function(torch.empty(shape)).shape == shape


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", [whole_rows, tiled, held])
def test_not_contiguous(function: Function, dtype: str) -> None:
    whole = torch.randn(9, 780).to(getattr(torch, dtype))
    views = (whole.t()[:5], whole[:, ::3], whole[6:, 7:], whole[:1].expand(3, -1), whole[::4])
    for view in views:
        assert not view.is_contiguous()
        right(function, view)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_offset_view(function: Function) -> None:
    right(function, torch.randn(2 * 800 + 3)[3:].view(2, 800))


def special_rows() -> torch.Tensor:
    """Return rows of 1100 columns: in ``tiled``, some tiles hold nothing but -inf."""
    x = torch.randn(12, 1100)
    x[0] = -math.inf
    x[1, :700] = -math.inf
    x[2, 300:] = -math.inf
    x[3, :-1] = -math.inf
    x[4, 1000] = math.nan
    x[5, 10] = math.nan
    x[6, 400] = math.inf
    x[7, :900] = -math.inf
    x[7, 1050] = math.inf
    x[8] *= 1e38
    x[9] = -3.4028234663852886e38
    x[10] = 1e-40
    x[11, ::2] = -1e4
    return x


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("function", FUNCTIONS)
def test_special_values_answer_as_torch_does(function: Function) -> None:
    x = special_rows()
    close(function(x), torch.softmax(x, dim=1))
    close(function(x.flip(1)), torch.softmax(x.flip(1), dim=1))


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("function", [whole_rows, tiled, held])
def test_special_values_in_bfloat16(function: Function) -> None:
    x = special_rows().bfloat16()
    close(function(x), torch.softmax(x, dim=1))


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("variant", VARIANTS)
def test_minus_inf_as_drawn(variant: str) -> None:
    case = Case((65, 300), "float32", ("minus_inf",))
    (x,) = draw(OPERATOR, case)
    infinite = x.isinf()
    assert infinite[63].all()
    assert not infinite[[row for row in range(65) if row % 64 != 63]].all(dim=1).all()
    assert 0.08 < infinite[::2].float().mean() < 0.12
    assert infinite[1::2].float().mean() > 0.4
    assert_right(OPERATOR, variant, case, (x,))


@pytest.mark.parametrize("rows", [1, 5, 33])
@pytest.mark.parametrize("function", [whole_rows, tiled, held])
def test_writes_nothing_else(
    monkeypatch: pytest.MonkeyPatch, function: Function, rows: int
) -> None:
    x = torch.randn(rows, 29)
    buffers = guarded(monkeypatch, "empty")
    function(x)
    monkeypatch.undo()
    assert buffers
    for buffer in buffers:
        assert (buffer[:1000] == 7).all()
        assert (buffer[-1000:] == 7).all()


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 4), st.integers(1, 1200), st.sampled_from(DTYPES), st.floats(0, 50))
def test_any_shape(rows: int, columns: int, dtype: str, spread: float) -> None:
    x = (torch.randn(rows, columns) * spread).to(getattr(torch, dtype))
    for function in (whole_rows, tiled, held):
        right(function, x)


@pytest.mark.parametrize("function", [whole_rows, online, resident])
@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.ones(4), r"1 dimensions; a matrix \(rows, columns\) is supported"),
        (torch.ones(2, 3, 4), "3 dimensions"),
        (torch.ones(2, 3, dtype=torch.float64), "torch.float64; float32, bfloat16, float16 are"),
    ],
)
def test_refused(
    monkeypatch: pytest.MonkeyPatch, function: Function, x: torch.Tensor, message: str
) -> None:
    monkeypatch.setattr(softmax, "softmax_kernel", Unlaunched())
    monkeypatch.setattr(softmax, "online_kernel", Unlaunched())
    monkeypatch.setattr(_softmax_resident, "resident_kernel", Unlaunched())
    with pytest.raises(AssertionError, match="launched"):
        function(torch.ones(2, 2))
    with pytest.raises(UnsupportedError, match=message):
        function(x)


def test_long_rows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(softmax, "softmax_kernel", Unlaunched())
    with pytest.raises(UnsupportedError, match="rows of 32769 columns; up to 32768 are supported"):
        whole_rows(torch.ones(1, 32769))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_longest_row(dtype: str) -> None:
    right(whole_rows, torch.randn(2, 32768).to(getattr(torch, dtype)))
