from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
import torch
import triton
from triton.runtime import driver
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction

from kernels.harness import build, discovery
from kernels.harness.build import Build, BuildError, compile_operator
from kernels.harness.spec import Case
from parsers.schemas import BUILDS
from tests.kernels import toys

Run = Callable[..., torch.Tensor]


def compile_one(run: Run, *archs: int) -> list[Build]:
    return compile_operator(toys.operator(("only", run)), archs or (90,))


@pytest.fixture(scope="module")
def gelu() -> list[Build]:
    return compile_operator(discovery.load("gelu"))


@pytest.fixture(scope="module")
def dots() -> dict[tuple[str, str], Build]:
    small = toys.operator(("dot", toys.dot), cases=(toys.MATRIX,))
    large = toys.operator(("much", toys.dot_in_much_memory), cases=(toys.MATRIX,))
    made = compile_operator(small) + compile_operator(large, (80, 90))
    return {(one.variant, one.arch): one for one in made}


def test_gelu_has_a_row_a_case_and_arch_of_its_triton_variant(gelu: list[Build]) -> None:
    assert [(made.variant, made.case, made.kernel, made.arch) for made in gelu] == [
        ("triton", case.name, "gelu_kernel", arch)
        for case in discovery.load("gelu").cases
        for arch in ("sm_80", "sm_90", "sm_100")
    ]
    assert {made.status for made in gelu} == {"ok"}
    config = {"num_ctas": 1, "num_stages": 3, "num_warps": 4}
    blocks = {"float32": 1024, "bfloat16": 2048, "float16": 2048}
    for made in gelu:
        block = next(blocks[dtype] for dtype in blocks if made.case.endswith(f"-{dtype}"))
        assert made.config == json.dumps({"block": block, **config})


def test_gelu_loads_wide_whether_or_not_the_size_divides(gelu: list[Build]) -> None:
    assert {(made.load_bits, made.store_bits) for made in gelu} == {(128, 128)}


def test_gelu_resources(gelu: list[Build]) -> None:
    for made in gelu:
        assert (made.spill_loads, made.spill_stores, made.stack_bytes) == (0, 0, 0)
        assert (made.shared_bytes, made.threads_per_block) == (0, 128)
        assert (made.tensor_instructions, made.tensor_opcodes) == (0, "")
        assert 16 <= (made.registers_per_thread or 0) <= 40
        assert 100 <= (made.sass_instructions or 0) <= 800
        assert made.sass is not None
        assert "LDG.E" in made.sass
        assert f".target {made.arch}" in (made.ptx or "")


def test_ptx_does_not_say_where_the_source_lay(gelu: list[Build]) -> None:
    for made in gelu:
        assert '"gelu.py"' in (made.ptx or "")
        assert ".debug_" not in (made.ptx or "")
        assert str(Path(__file__).parents[2]) not in (made.ptx or "") + (made.sass or "")


def test_everything_replaced_is_put_back(gelu: list[Build]) -> None:
    del gelu
    before = (
        JITFunction.run,
        Autotuner.run,
        torch.cuda.current_device,
        torch.cuda.get_device_properties,
        torch.cuda.get_device_capability,
    )
    sentinel = object()
    old = driver._active
    driver.set_active(sentinel)
    try:
        compile_one(toys.copy)
        compile_one(toys.copy_after_failure)
        assert driver._active is sentinel
    finally:
        driver.set_active(old)
    assert before == (
        JITFunction.run,
        Autotuner.run,
        torch.cuda.current_device,
        torch.cuda.get_device_properties,
        torch.cuda.get_device_capability,
    )
    assert all(device < 0 for device in toys.copy_kernel.device_caches)


def test_launches_without_compiling() -> None:
    found = build.launches(toys.operator(("a", toys.copy), ("b", toys.copy_twice)), toys.VECTOR)
    assert [(one.variant, one.kernel.__name__, one.grid) for one in found] == [
        ("a", "copy_kernel", (8,)),
        ("b", "copy_kernel", (8,)),
        ("b", "copy_kernel", (8,)),
    ]
    assert [type(argument) for argument in found[0].arguments] == [torch.Tensor, torch.Tensor, int]


def test_the_same_kernel_twice_is_one_row() -> None:
    assert len(compile_one(toys.copy_twice)) == 1


def test_cases_that_share_a_kernel_have_a_row_each() -> None:
    cases = (toys.VECTOR, Case((8192,), "float32"))
    first, second = compile_operator(toys.operator(("only", toys.copy), cases=cases), (90,))
    assert (first.case, second.case) == ("4096-float32", "8192-float32")
    assert first.sass == second.sass


def test_alignment_is_specialised_as_on_a_gpu() -> None:
    (aligned,) = compile_one(toys.copy)
    (shifted,) = compile_one(toys.copy_from_second)
    assert (aligned.load_bits, shifted.load_bits) == (128, 32)


@pytest.mark.parametrize(
    ("run", "warps"), [(toys.compiled_copy, 4), (toys.wide_copy, 8), (toys.persistent, 4)]
)
def test_wrapped_variants_are_recorded(run: Run, warps: int) -> None:
    (made,) = compile_one(run)
    assert (made.kernel, made.status) == ("copy_kernel", "ok")
    assert made.threads_per_block == 32 * warps


@pytest.mark.parametrize(("arch", "blocks"), [(80, 108), (90, 132), (100, 148)])
def test_a_variant_sees_the_gpu_that_is_built_for(arch: int, blocks: int) -> None:
    (launch,) = build.launches(toys.operator(("only", toys.persistent)), toys.VECTOR, arch)
    assert launch.grid == (blocks,)


def test_an_autotuned_kernel_has_a_row_a_configuration() -> None:
    cases = (toys.VECTOR, Case((4100,), "float32"))
    made = compile_operator(toys.operator(("only", toys.tuned), cases=cases), (90,))
    configs = [json.loads(one.config) for one in made]
    assert [(config["block"], config["num_warps"], config["even"]) for config in configs] == [
        (256, 2, True),
        (1024, 4, True),
        (256, 2, False),
        (1024, 4, False),
    ]
    assert [one.threads_per_block for one in made] == [64, 128, 64, 128]
    assert toys.tuned_kernel.cache == {}


def test_spills_are_counted() -> None:
    (made,) = compile_one(toys.spill)
    assert made.registers_per_thread is not None
    assert made.registers_per_thread <= 32
    assert (made.stack_bytes or 0) > 0
    assert (made.spill_loads or 0) > 0
    assert (made.spill_stores or 0) > 0
    assert json.loads(made.config)["maxnreg"] == 32


def test_tensor_cores_of_each_arch(dots: dict[tuple[str, str], Build]) -> None:
    opcodes = {arch: dots["dot", arch].tensor_opcodes for arch in ("sm_80", "sm_90", "sm_100")}
    assert opcodes == {"sm_80": "HMMA", "sm_90": "HGMMA", "sm_100": "UTCHMMA"}
    for arch in opcodes:
        assert (dots["dot", arch].tensor_instructions or 0) > 0
        assert dots["dot", arch].load_bits == 128
        assert (dots["dot", arch].shared_bytes or 0) > 0


def test_too_much_shared_memory_is_a_failure_with_numbers(
    dots: dict[tuple[str, str], Build],
) -> None:
    made = dots["much", "sm_80"]
    assert made.status == "failed"
    assert (made.shared_bytes or 0) > 163 * 1024
    assert made.reason == f"needs {made.shared_bytes} B of shared memory a block, of 166912 allowed"
    assert dots["much", "sm_90"].status == "ok"


def test_a_compile_error_is_one_line() -> None:
    (made,) = compile_one(toys.broken)
    assert (made.kernel, made.status) == ("broken_kernel", "failed")
    assert made.reason == "CompileTimeAssertionFailure: the block is too large"
    assert (made.registers_per_thread, made.ptx, made.sass) == (None, None, None)


def test_an_option_that_an_arch_lacks_fails_there_only() -> None:
    old, new = compile_one(toys.copy_in_a_cluster, 80, 90)
    assert (old.status, new.status) == ("failed", "ok")
    assert "num_ctas > 1 requires NVIDIA SM90+" in (old.reason or "")


def test_a_variant_that_raises_before_its_launch() -> None:
    (made,) = compile_one(toys.copy_after_failure)
    assert (made.kernel, made.arch, made.config) == ("copy_kernel", "sm_90", "{}")
    assert made.status == "failed"
    assert "raised before it launched this: RuntimeError: Tensor.item()" in (made.reason or "")


def test_a_variant_that_raises_after_its_launch() -> None:
    made = compile_one(toys.copy_before_failure)
    assert [(one.kernel, one.status) for one in made] == [
        ("copy_kernel", "ok"),
        ("copy_kernel", "failed"),
    ]


def test_a_variant_without_kernels_that_raises_has_no_row() -> None:
    assert compile_one(toys.fails_without_kernel) == []


def test_a_launch_that_does_not_fit_the_kernel() -> None:
    (made,) = compile_one(toys.misspelled_argument)
    assert made.status == "failed"
    assert "TypeError: missing a required argument: 'block'" in (made.reason or "")


def test_unknown_arch() -> None:
    with pytest.raises(BuildError, match=r"^sm_75: not a known architecture; choose of \[80"):
        compile_one(toys.copy, 75)


@pytest.mark.parametrize("name", ["TRITON_INTERPRET", "TRITON_OVERRIDE_ARCH"])
def test_foreign_settings_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "1")
    with pytest.raises(BuildError, match=f"^{name}: set, so Triton does not compile as asked"):
        compile_one(toys.copy)


def test_inputs_that_fail_on_meta() -> None:
    operator = toys.operator(("only", toys.copy))
    object.__setattr__(operator, "make_inputs", lambda *_: 1 / 0)
    with pytest.raises(BuildError, match=r"^kernels/toy.py: make_inputs fails .* ZeroDivision"):
        compile_operator(operator)


def test_missing_tools(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(triton, "__file__", str(tmp_path / "__init__.py"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildError, match=r"^cuobjdump: neither in Triton's wheel nor on PATH"):
        compile_one(toys.copy)


def test_tiles_of_tma_follow_the_pre_hook_and_have_no_width() -> None:
    made = compile_operator(toys.operator(("only", toys.tiles), cases=(toys.MATRIX,)), (90,))
    assert [json.loads(one.config)["tile"] for one in made] == [16, 64]
    small, large = (one.shared_bytes or 0 for one in made)
    assert small < 2 * 64 * 64 <= large
    for one in made:
        assert (one.status, one.load_bits, one.store_bits) == ("ok", None, None)
        assert "UTMALDG" in (one.sass or "")


def test_rows_fit_the_schema(gelu: list[Build]) -> None:
    assert tuple(BUILDS.columns) == build.COLUMNS
    frame = BUILDS.conform(build.rows("gelu", [*gelu, *compile_one(toys.broken)], "3.6.0"))
    assert len(frame) == len(gelu) + 1
    assert frame["ptx"].iloc[0] == f"triton-{gelu[0].case}-gelu_kernel-sm_80.ptx"
    assert pd.isna(frame["ptx"].iloc[-1])
    assert set(frame["triton"]) == {"3.6.0"}


def test_saved_files(tmp_path: Path) -> None:
    made = compile_one(toys.tuned) + compile_one(toys.broken)
    table = build.save("toy", made, tmp_path / "capture")
    frame = BUILDS.conform(pd.read_csv(table))
    assert list(frame["status"]) == ["ok", "ok", "failed"]
    stem = "only-4096-float32-tuned_kernel-sm_90"
    assert sorted(path.name for path in table.parent.iterdir()) == [
        "builds.csv",
        f"{stem}-2.ptx",
        f"{stem}-2.sass",
        f"{stem}.ptx",
        f"{stem}.sass",
    ]
    assert list(frame["sass"].dropna()) == [f"{stem}.sass", f"{stem}-2.sass"]
    assert (table.parent / f"{stem}-2.sass").read_text() == made[1].sass
    assert set(frame["triton"]) == {triton.__version__}


def test_saving_nothing_writes_the_header(tmp_path: Path) -> None:
    frame = BUILDS.conform(pd.read_csv(build.save("toy", [], tmp_path)))
    assert frame.empty
