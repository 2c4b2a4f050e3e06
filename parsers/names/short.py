"""Short names of kernels, for people to read."""

from __future__ import annotations

import re

_UNNAMED = re.compile(r"(?:<unnamed>|\(anonymous namespace\))::")
_LAMBDA_OWNER = re.compile(r"(\w+)(?:<[^<>()]*>)?\([^()]*\)::\[lambda")
_FUNCTOR = re.compile(r"\w+Functor\w*|\w+_functor\b|\w+Ops\b")
WRAPPERS = {"gpu_kernel_impl", "gpu_kernel_impl_nocast"}


def short_name(demangled: str) -> str:
    """Shorten a demangled kernel name to the function and what it applies.

    PyTorch launches ``vectorized_elementwise_kernel`` for most pointwise operations; which one it
    is stands in a template argument, either as a functor or as the function whose lambda it is.
    Names without template arguments, such as Triton's, stay as they are.

    Examples
    --------
    >>> short_name("void at::native::k<(int)4, at::native::FillFunctor<float>>(int, T2)")
    'k (FillFunctor)'
    >>> short_name("triton_poi_fused_add_mul_tanh_0")
    'triton_poi_fused_add_mul_tanh_0'
    """
    plain = _UNNAMED.sub("", demangled).strip()
    head = re.split(r"[<(]", plain, maxsplit=1)[0]
    name = head.split("::")[-1].split(" ")[-1]
    applied = applied_to(plain[len(head) :])
    if not name:
        return demangled
    return f"{name} ({applied})" if applied else name


def applied_to(arguments: str) -> str | None:
    """Return what a wrapper's arguments say that it applies: a lambda's owner, or a functor."""
    owners = [name for name in _LAMBDA_OWNER.findall(arguments) if name not in WRAPPERS]
    if owners:
        return str(owners[0])
    # The last functor is the innermost: BinaryFunctor<float, MulFunctor<float>> multiplies.
    functors = _FUNCTOR.findall(arguments)
    return str(functors[-1]) if functors else None
