"""Record which Triton kernels a variant launches, without a GPU and without running them.

A variant is called with meta tensors, which have a shape and a dtype but no data, while Triton's
launch is replaced by one that writes down what would be launched.

Three limits follow. A variant that looks at ``x.is_cuda`` or at the values of a tensor may take
another way than on a GPU. A variant under ``torch.compile`` runs eagerly here, so the kernels that
Inductor generates are not seen. Kernels of PyTorch and of Triton itself are not the operator's own
and are not recorded.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction

from kernels.harness.errors import HarnessError, one_line
from kernels.harness.reach import innermost, is_own, kernels_of
from kernels.harness.spec import Case, Operator, UnsupportedError, Variant

# What Triton uses where a launch does not say: CUDAOptions in triton/backends/nvidia/compiler.py.
DEFAULT_OPTIONS = {"num_warps": 4, "num_stages": 3, "num_ctas": 1}
# Environment variables under which Triton compiles something else than what was asked for.
FOREIGN_SETTINGS = ("TRITON_INTERPRET", "TRITON_OVERRIDE_ARCH")


class BuildError(HarnessError):
    """Nothing can be built: what stands in the way, and the way out."""


@dataclass(frozen=True)
class Chip:
    """What a variant may ask of the GPU before it launches, for one architecture.

    ``shared_bytes`` is the most shared memory a block may have (CUDA C++ Programming Guide,
    "Compute Capabilities"); ``sm_count`` is that of the SXM module.
    """

    name: str
    sm_count: int
    shared_bytes: int


CHIPS = {
    80: Chip("NVIDIA A100", 108, 163 * 1024),
    90: Chip("NVIDIA H100", 132, 227 * 1024),
    100: Chip("NVIDIA B200", 148, 227 * 1024),
}


@dataclass(frozen=True)
class Launch:
    """One launch that a variant makes: a ``triton.jit`` function and what it is called with.

    ``options`` holds the keyword arguments: parameters of the kernel by name, and launch options
    such as ``num_warps``. ``grid`` counts blocks.
    """

    variant: str
    kernel: Any
    arguments: tuple[Any, ...]
    options: dict[str, Any]
    grid: tuple[int, ...]

    @property
    def config(self) -> str:
        """Constants by name and launch options, as JSON with sorted keys."""
        bound = _bind(self.kernel, self.arguments, self.options)
        constants = {p.name: bound[p.name] for p in self.kernel.params if p.is_constexpr}
        given = {key: value for key, value in self.options.items() if key not in bound}
        chosen = {key: value for key, value in given.items() if value is not None}
        return json.dumps(DEFAULT_OPTIONS | chosen | constants, sort_keys=True, default=_plain)


@dataclass(frozen=True)
class Trace:
    """What calling a variant on a case launched, and what it failed to launch.

    ``missing`` names the kernels that an exception, told in ``error``, kept from being launched.
    """

    launches: tuple[Launch, ...]
    missing: tuple[str, ...] = ()
    error: str = ""


def launches(operator: Operator, case: Case, arch: int = 90) -> list[Launch]:
    """Return the launches that the variants of an operator make on a case.

    Parameters
    ----------
    operator, case
        What is computed, and on which input; nothing is allocated or run.
    arch
        Compute capability times ten of the GPU that the variants believe to be on.

    Raises
    ------
    BuildError
        As `compile_operator` does.
    """
    return [
        launch
        for variant in operator.variants
        for launch in trace(operator, variant, case, arch).launches
    ]


def trace(operator: Operator, variant: Variant, case: Case, arch: int) -> Trace:
    """Call a variant with meta tensors and record what it launches; an autotuned kernel each way.

    A variant that raises may have been stopped before a launch. The kernels that its code names,
    and that were not launched, are then missing; if all were, the last one is, for a launch may
    follow. A variant whose code names no kernel is PyTorch's own business: it raises in peace,
    unless it was Triton that raised.
    """
    _refuse_foreign_settings()
    try:
        inputs = operator.make_inputs(case, "meta", None)
    except Exception as error:
        raise BuildError(
            f"kernels/{operator.name}.py",
            f"make_inputs fails on the meta device, {one_line(error)}",
            "let it make tensors there without a generator",
        ) from error
    recorded: list[Launch] = []
    with (
        pretending(arch),
        _replaced(JITFunction, "run", _recorder(variant.name, recorded)),
        _replaced(Autotuner, "run", _run_every_config),
        torch.compiler.set_stance("force_eager"),
    ):
        try:
            variant.run(*variant.prepare(inputs))
        except UnsupportedError:
            return Trace(tuple(recorded))
        except Exception as error:
            launched = [launch.kernel.__name__ for launch in recorded]
            named = {innermost(kernel).__name__ for kernel in kernels_of(variant.run)}
            missing = sorted(named - set(launched)) or launched[-1:]
            if not missing and _came_through_triton(error):
                missing = ["unknown"]
            return Trace(tuple(recorded), tuple(missing), one_line(error))
    return Trace(tuple(recorded))


def _recorder(variant: str, recorded: list[Launch]) -> Callable[..., Any]:
    """Make a stand-in for ``JITFunction.run`` that appends what it is asked to launch."""
    real = JITFunction.run

    def run(kernel: Any, *arguments: Any, grid: Any, warmup: bool = False, **options: Any) -> Any:
        if warmup:
            return real(kernel, *arguments, grid=grid, warmup=True, **options)
        if is_own(kernel):
            bound = _bind(kernel, arguments, options)
            size = grid(bound) if callable(grid) else grid
            frozen = tuple(map(_frozen, arguments))
            kept = {key: _frozen(value) for key, value in options.items()}
            recorded.append(Launch(variant, kernel, frozen, kept, tuple(size)))
        return None

    return run


def _run_every_config(tuner: Any, *arguments: Any, **options: Any) -> None:
    """Stand in for ``Autotuner.run``: launch each configuration instead of timing them."""
    tuner.nargs = dict(zip(tuner.arg_names, arguments, strict=False))
    try:
        # Triton does not prune where there is nothing to choose from.
        configs = tuner.prune_configs(options) if len(tuner.configs) > 1 else tuner.configs
        for config in configs:
            chosen = options | config.all_kwargs()
            if config.pre_hook is not None:
                config.pre_hook({**tuner.nargs, **chosen})
            tuner.fn.run(*arguments, **chosen)
    finally:
        tuner.nargs = None


def _frozen(argument: Any) -> Any:
    """Copy a tensor descriptor: the pre-hook of the next configuration changes it in place."""
    return copy.copy(argument) if type(argument).__name__ == "TensorDescriptor" else argument


def _bind(kernel: Any, arguments: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a kernel by name; raise TypeError where they do not fit."""
    known = {key: value for key, value in options.items() if key in kernel.signature.parameters}
    bound = kernel.signature.bind(*arguments, **known)
    bound.apply_defaults()
    return dict(bound.arguments)


def _came_through_triton(error: BaseException) -> bool:
    frame = error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_globals.get("__name__", "").startswith("triton."):
            return True
        frame = frame.tb_next
    return False


@contextlib.contextmanager
def pretending(arch: int) -> Iterator[None]:
    """Let Triton and PyTorch name an architecture as the current GPU, whatever there is."""
    if arch not in CHIPS:
        raise BuildError(f"sm_{arch}", "not a known architecture", f"choose of {sorted(CHIPS)}")
    chip, (major, minor) = CHIPS[arch], divmod(arch, 10)
    properties = SimpleNamespace(
        name=chip.name, major=major, minor=minor, multi_processor_count=chip.sm_count
    )
    with (
        # Assigned rather than set, because reading the active driver fails where there is none.
        _replaced(driver, "_active", _Driver(arch)),
        _replaced(torch.cuda, "current_device", lambda: 0),
        _replaced(torch.cuda, "get_device_properties", lambda *_: properties),
        _replaced(torch.cuda, "get_device_capability", lambda *_: (major, minor)),
    ):
        yield


class _Driver:
    """A Triton driver of a GPU that is not there.

    The device number is negative, so that what Triton keeps in memory for it is never taken for
    that of a real device. On disk Triton's keys hold the architecture.
    """

    def __init__(self, arch: int) -> None:
        chip = CHIPS[arch]
        self._arch = arch
        limits = {
            "max_shared_mem": chip.shared_bytes,
            "multiprocessor_count": chip.sm_count,
            "max_num_regs": 65536,
            "warpSize": 32,
        }
        self.utils = SimpleNamespace(get_device_properties=lambda _device: limits)

    def get_current_target(self) -> Any:
        return GPUTarget("cuda", self._arch, 32)

    def get_current_device(self) -> int:
        return -self._arch

    def get_current_stream(self, _device: int | None = None) -> int:
        return 0

    def get_active_torch_device(self) -> torch.device:
        return torch.device("meta")


@contextlib.contextmanager
def _replaced(target: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(target, name)
    setattr(target, name, value)
    try:
        yield
    finally:
        setattr(target, name, before)


def _refuse_foreign_settings() -> None:
    for name in FOREIGN_SETTINGS:
        if os.environ.get(name, "0").lower() not in {"", "0", "false", "off", "no", "n"}:
            raise BuildError(name, "set, so Triton does not compile as asked", "unset it")


def _plain(value: Any) -> Any:
    """Give JSON what it can hold of a constant: its value, or its name."""
    return getattr(value, "value", getattr(value, "__name__", str(value)))
