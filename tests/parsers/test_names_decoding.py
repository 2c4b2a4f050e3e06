from __future__ import annotations

import tomllib
from dataclasses import asdict, fields

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from parsers.names import KernelName, decode, decode_names
from tests.parsers.conftest import ROOT

ROWS = {
    name: KernelName(**said)
    for name, said in tomllib.loads((ROOT / "tests/data/kernel_names.toml").read_text()).items()
}

UNKNOWN = (
    "",
    "gelu_kernel",
    "reduce_kernel",
    "elementwise_kernel",
    "memcpy",
    "flash_fwd_kernel",
    "ampere_kernel",
    "triton_kernel",
    "add_one(const float *, float *, int)",
    "void <unnamed>::gemm_tiled_kernel<(int)32>(const float *, float *, int)",
    "void vllm::act_and_mul_kernel<c10::BFloat16>(T1 *)",
)

# The same kernel as Nsight and as c++filt write it.
SPELLINGS = (
    (
        "void at::native::elementwise_kernel<(int)128, (int)2, void at::native::"
        "gpu_kernel_impl_nocast<at::native::<unnamed>::masked_fill_kernel(at::TensorIterator &, "
        "const c10::Scalar &)::[lambda() (instance 1)]::operator ()() const::[lambda() "
        "(instance 7)]::operator ()() const::[lambda(float, bool) (instance 1)]>("
        "at::TensorIteratorBase &, const T1 &)::[lambda(int) (instance 1)]>(int, T3)",
        "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<"
        "at::native::(anonymous namespace)::masked_fill_kernel(at::TensorIterator&, "
        "c10::Scalar const&)::{lambda()#1}::operator()() const::{lambda()#7}::operator()() const::"
        "{lambda(float, bool)#1}>(at::TensorIteratorBase&, at::native::(anonymous namespace)::"
        "masked_fill_kernel(at::TensorIterator&, c10::Scalar const&)::{lambda()#1}::operator()() "
        "const::{lambda()#7}::operator()() const::{lambda(float, bool)#1} const&)::{lambda(int)#1}>"
        "(int, at::native::gpu_kernel_impl_nocast<int>::{lambda(int)#1})",
    ),
    (
        "void <unnamed>::softmax_warp_forward<float, float, float, (int)6, (bool)1, (bool)0>(T2 *)",
        "void (anonymous namespace)::softmax_warp_forward<float, float, float, 6, true, false>"
        "(float*)",
    ),
    (
        "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<(int)64, (int)128, (int)64, (int)4, "
        "cutlass::half_t>>(Params)",
        "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 64, 4, cutlass::half_t> >"
        "(Params)",
    ),
)


@pytest.mark.parametrize(("name", "said"), ROWS.items())
def test_a_name_says(name: str, said: KernelName) -> None:
    assert decode(name) == said


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown_stays_unknown(name: str) -> None:
    assert decode(name) == KernelName()


@pytest.mark.parametrize(("nsight", "filtered"), SPELLINGS)
def test_tools_spell_one_kernel_differently(nsight: str, filtered: str) -> None:
    assert decode(nsight) == decode(filtered)
    assert decode(nsight).dtypes


def test_a_triton_kernel_is_one_that_is_known_as_such() -> None:
    known = {"gelu_kernel", "triton_poi_fused_add_0"}
    assert decode("gelu_kernel", known) == KernelName("Triton")
    assert decode("other_kernel", known) == KernelName()
    assert asdict(decode("triton_poi_fused_add_0", known))["library"] == "Inductor"


def test_a_column_is_decoded_once_for_each_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from parsers.names import decoding

    seen: list[str] = []

    def counting(name: str, triton_kernels: set[str]) -> KernelName:
        seen.append(name)
        return decode(name, triton_kernels)

    monkeypatch.setattr(decoding, "decode", counting)
    gemm = "cutlass_80_tensorop_s16816gemm_f16_128x128_32x4_nn_align8"
    names = pd.Series(["mine", gemm, None, gemm, "mine"], index=[7, 3, 3, 1, 0], dtype="string")
    frame = decode_names(names, {"mine"})
    assert seen == ["mine", gemm]
    assert list(frame) == [field.name for field in fields(KernelName)]
    assert frame.index.equals(names.index)
    assert frame["library"].fillna("NA").tolist() == [
        "Triton",
        "CUTLASS",
        "NA",
        "CUTLASS",
        "Triton",
    ]
    assert frame["stages"].tolist()[1] == 4
    assert {str(frame[column].dtype) for column in ("stages", "alignment")} == {"Int64"}
    assert frame.drop(columns=["stages", "alignment"]).dtypes.astype(str).eq("string").all()


def test_an_empty_column_gives_an_empty_frame() -> None:
    frame = decode_names(pd.Series([], dtype="string"))
    assert frame.empty
    assert list(frame) == [field.name for field in fields(KernelName)]


PIECES = st.sampled_from(
    [
        *"<>(){}[],: _x&*",
        *("::", "_Z", "_ZN", "99999", "nvjet_tst_", "_64x99999_", "sm80_xmma_gemm_", "f32f32_"),
        *("cutlass_80_tensorop_", "cutlass3x_sm90_", "s16816gemm", "_align99999", "_align0"),
        *("_32x0", "_nn", "volta_", "cub::Kernel", "flash::_kernel"),
        *("at::native::", "reduce_kernel", "Functor<", "[lambda(", "cutlass::device_kernel<"),
        *("MainloopSm90", "cute::tuple<", "cute::C<1>", "cub::", "thrust::", "nccl", "Kernel_"),
        *("AllReduce", "_Sum", "_f32", "flash::", "FlashAttnFwd", "cudnn", "triton_poi_fused_"),
        *ROWS,
    ]
)


@settings(deadline=None, max_examples=300)
@given(st.text() | st.lists(PIECES, max_size=12).map("".join))
@example("_Z" + "9" * 5000)
@example("cutlass_80_tensorop_s16816gemm_128x128_32x" + "9" * 5000)
@example("<" * 5000 + ">" * 10000)
def test_any_text_is_decoded_to_the_same_twice(text: str) -> None:
    once = decode(text)
    assert once == decode(text)
    fields = asdict(once)
    for field, value in fields.items():
        assert value is None or value, field
        assert field not in {"stages", "alignment"} or value is None or value > 0
    if fields["library"] is None:
        assert once == KernelName()
