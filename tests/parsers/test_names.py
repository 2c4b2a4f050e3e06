from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from parsers import nsys
from parsers.names import short_name

LAMBDA = (
    "[lambda() (instance 2)]::operator ()() const::[lambda() (instance 2)]::operator ()() "
    "const::[lambda(float) (instance 1)]"
)
ARRAY = "std::array<char *, (unsigned long)2>>(int, T2, T3)"
VECTORIZED = "void at::native::vectorized_elementwise_kernel<(int)4, "
REDUCE = "void at::native::reduce_kernel<(int)512, (int)1, at::native::ReduceOp<float, at::native::"


@pytest.mark.parametrize(
    ("demangled", "short"),
    [
        (
            f"{VECTORIZED}at::native::AUnaryFunctor<float, float, float, "
            f"at::native::binary_internal::MulFunctor<float>>, {ARRAY}",
            "vectorized_elementwise_kernel (MulFunctor)",
        ),
        (
            f"{VECTORIZED}at::native::CUDAFunctorOnSelf_add<float>, {ARRAY}",
            "vectorized_elementwise_kernel (CUDAFunctorOnSelf_add)",
        ),
        (
            f"{VECTORIZED}at::native::CUDAFunctor_add<float>, {ARRAY}",
            "vectorized_elementwise_kernel (CUDAFunctor_add)",
        ),
        (
            f"{VECTORIZED}at::native::tanh_kernel_cuda(at::TensorIteratorBase &)::"
            f"{LAMBDA}, {ARRAY}",
            "vectorized_elementwise_kernel (tanh_kernel_cuda)",
        ),
        (
            f"{VECTORIZED}at::native::GeluCUDAKernelImpl(at::TensorIteratorBase &, "
            f"at::native::GeluType)::{LAMBDA}, {ARRAY}",
            "vectorized_elementwise_kernel (GeluCUDAKernelImpl)",
        ),
        (
            "void at::native::elementwise_kernel<(int)128, (int)2, void "
            "at::native::gpu_kernel_impl_nocast<at::native::BinaryFunctor<float, float, float, "
            "at::native::binary_internal::MulFunctor<float>>>(at::TensorIteratorBase &, "
            "const T1 &)::[lambda(int) (instance 1)]>(int, T3)",
            "elementwise_kernel (MulFunctor)",
        ),
        (
            f"{REDUCE}MeanOps<float, float, float, float>, unsigned int, float, (int)4, (int)4>>"
            "(T3)",
            "reduce_kernel (MeanOps)",
        ),
        (
            "void <unnamed>::softmax_warp_forward<float, float, float, (int)7, (bool)0, (bool)0>"
            "(T2 *, const T1 *, int, int, int, const bool *, int, bool)",
            "softmax_warp_forward",
        ),
        ("add_one(const float *, float *, int)", "add_one"),
        ("gelu_k", "gelu_k"),
        ("triton_poi_fused_add_mul_tanh_0", "triton_poi_fused_add_mul_tanh_0"),
        ("", ""),
    ],
)
def test_short_name(demangled: str, short: str) -> None:
    assert short_name(demangled) == short


def test_kernels_of_a_real_program_stay_apart(shared: Callable[[str], Path]) -> None:
    names = nsys.parse(shared("h200/gelu.sqlite"))["kernel_demangled"]
    assert {short_name(name) for name in names} == {
        "distribution_elementwise_grid_stride_kernel (normal_kernel)",
        "gelu_k",
        "triton_poi_fused_add_mul_tanh_0",
        *(
            f"vectorized_elementwise_kernel ({applied})"
            for applied in (
                "MulFunctor",
                "CUDAFunctorOnSelf_add",
                "CUDAFunctor_add",
                "GeluCUDAKernelImpl",
                "tanh_kernel_cuda",
            )
        ),
    }
