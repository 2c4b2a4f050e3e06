"""Compile every Triton kernel that an operator launches, for any architecture, without a GPU.

`kernels.harness.trace` says what a variant launches. Triton compiles each launch through its own
``JITFunction.run(..., warmup=True)``, so that the arguments are specialised as they are on a GPU,
under a driver that only names the architecture; the real driver is put back afterwards. The CUDA
binary utilities then read the result.
"""

from __future__ import annotations

import dataclasses
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import triton

from kernels.harness import sass, tables
from kernels.harness.errors import one_line
from kernels.harness.spec import Case, Operator, Variant
from kernels.harness.trace import CHIPS, BuildError, Launch, launches, pretending, trace

__all__ = ["Build", "BuildError", "compile_operator", "launches", "rows", "save"]


@dataclass(frozen=True)
class Build:
    """What the compiler made of one kernel for one case and architecture.

    The fields are the columns of the schema ``BUILDS``, with the text of the PTX and SASS in the
    place of file names. Where the status is ``failed``, what could not be read is None.
    """

    variant: str
    case: str
    kernel: str
    arch: str
    config: str
    status: str = "ok"
    reason: str | None = None
    registers_per_thread: int | None = None
    stack_bytes: int | None = None
    shared_bytes: int | None = None
    threads_per_block: int | None = None
    spill_loads: int | None = None
    spill_stores: int | None = None
    load_bits: int | None = None
    store_bits: int | None = None
    tensor_instructions: int | None = None
    tensor_opcodes: str | None = None
    sass_instructions: int | None = None
    sass_sha256: str | None = None
    ptx: str | None = field(default=None, repr=False)
    sass: str | None = field(default=None, repr=False)


COLUMNS = ("operator", *(part.name for part in dataclasses.fields(Build)), "triton")


def compile_operator(
    operator: Operator,
    archs: Sequence[int] = (80, 90, 100),
    cases: Sequence[Case] | None = None,
) -> list[Build]:
    """Compile every Triton kernel of an operator for each architecture.

    Returns one build a distinct kernel and configuration of a variant, case and architecture, in
    that order. A kernel that cannot be compiled, or that needs more shared memory than a block of
    that architecture may have, gives a build whose status is ``failed``.

    Parameters
    ----------
    operator
        What to compile; a variant that launches no Triton kernel gives no build.
    archs
        Compute capabilities times ten, of those in `CHIPS`.
    cases
        Cases to compile for; None takes all of the operator's.

    Raises
    ------
    BuildError
        When an architecture is not known, ``make_inputs`` fails on the meta device, Triton is set
        to interpret or to override the architecture, or a tool that reads SASS is missing.
    """
    known: dict[str, Build] = {}
    return [
        build
        for variant in operator.variants
        for case in (operator.cases if cases is None else cases)
        for arch in archs
        for build in _builds(operator, variant, case, arch, known)
    ]


def rows(operator_name: str, builds: Sequence[Build], triton_version: str) -> list[dict[str, Any]]:
    """Return builds as rows of the schema ``BUILDS``; ``ptx`` and ``sass`` are file names."""
    return [
        dict.fromkeys(COLUMNS)
        | vars(build)
        | {
            "operator": operator_name,
            "ptx": f"{stem}.ptx" if build.ptx is not None else None,
            "sass": f"{stem}.sass" if build.sass is not None else None,
            "triton": triton_version,
        }
        for build, stem in zip(builds, _stems(builds), strict=True)
    ]


def outcomes(builds: Sequence[Build]) -> list[dict[str, Any]]:
    """Return the outcome of each variant and case that has kernels: ok, or failed with a reason."""
    reasons: dict[tuple[str, str], str | None] = {}
    for build in builds:
        reasons.setdefault((build.variant, build.case), None)
        if build.status != "ok":
            reasons[build.variant, build.case] = f"{build.kernel} on {build.arch}: {build.reason}"
    return [
        {"variant": v, "case": c, "status": "failed" if reason else "ok", "reason": reason}
        for (v, c), reason in reasons.items()
    ]


def save(operator_name: str, builds: Sequence[Build], folder: Path) -> Path:
    """Write ``builds.csv`` and the PTX and SASS of each row into a folder; return the former."""
    folder.mkdir(parents=True, exist_ok=True)
    for build, stem in zip(builds, _stems(builds), strict=True):
        for suffix, text in ((".ptx", build.ptx), (".sass", build.sass)):
            if text is not None:
                (folder / f"{stem}{suffix}").write_text(text, encoding="utf-8")
    table = folder / "builds.csv"
    tables.write(table, rows(operator_name, builds, triton.__version__), COLUMNS)
    return table


def _stems(builds: Sequence[Build]) -> list[str]:
    """Name the files of each build: alike ones share theirs, others of one name are numbered."""
    seen: Counter[str] = Counter()
    known: dict[tuple[str | None, str | None], str] = {}
    stems = []
    for build in builds:
        text = (build.ptx, build.sass)
        if text not in known or text == (None, None):
            stem = "-".join((build.variant, build.case, build.kernel, build.arch))
            stem = re.sub(r"[^\w.+-]", "_", stem)
            seen[stem] += 1
            known[text] = stem if seen[stem] == 1 else f"{stem}-{seen[stem]}"
        stems.append(known[text])
    return stems


def _builds(
    operator: Operator, variant: Variant, case: Case, arch: int, known: dict[str, Build]
) -> list[Build]:
    found = trace(operator, variant, case, arch)
    # A dictionary drops the launches of one kernel that compile to the same.
    builds = {_compile(launch, case, arch, known): None for launch in found.launches}
    stopped = f"the variant raised before it launched this: {found.error}"
    for kernel in found.missing:
        failure = Build(variant.name, case.name, kernel, f"sm_{arch}", "{}", "failed", stopped)
        builds[failure] = None
    return list(builds)


def _compile(launch: Launch, case: Case, arch: int, known: dict[str, Build]) -> Build:
    """Compile a launch; ``known`` holds what was read from each binary, by Triton's hash."""
    build = Build(
        launch.variant, case.name, launch.kernel.__name__, f"sm_{arch}", launch.config, "failed"
    )
    try:
        with pretending(arch):
            kernel = launch.kernel.run(
                *launch.arguments, grid=launch.grid, warmup=True, **launch.options
            )
    except Exception as error:
        return dataclasses.replace(build, reason=one_line(error))
    if kernel.hash not in known:
        known[kernel.hash] = _read(kernel, build, arch)
    return dataclasses.replace(
        known[kernel.hash], variant=build.variant, case=build.case, config=build.config
    )


def _read(kernel: Any, build: Build, arch: int) -> Build:
    """Fill in a build from the binary that Triton made."""
    name, allowed, shared = kernel.metadata.name, CHIPS[arch].shared_bytes, kernel.metadata.shared
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder) / "kernel.cubin"
        cubin.write_bytes(kernel.asm["cubin"])
        usage = _run_tool("cuobjdump", "--dump-resource-usage", str(cubin))
        text = _run_tool("nvdisasm", "-c", str(cubin))
    resources = re.search(rf"Function {re.escape(name)}:\s+REG:(\d+) STACK:(\d+)", usage)
    if resources is None:
        raise BuildError(
            "cuobjdump", f"no resource usage of {name}", "use the one of Triton's wheel"
        )
    facts = sass.summarise(text)
    fits = shared <= allowed
    return dataclasses.replace(
        build,
        kernel=name,
        status="ok" if fits else "failed",
        reason=None if fits else f"needs {shared} B of shared memory a block, of {allowed} allowed",
        registers_per_thread=int(resources[1]),
        stack_bytes=int(resources[2]),
        shared_bytes=shared,
        threads_per_block=kernel.metadata.num_warps * kernel.metadata.warp_size,
        spill_loads=facts.spill_loads,
        spill_stores=facts.spill_stores,
        load_bits=facts.load_bits,
        store_bits=facts.store_bits,
        tensor_instructions=facts.tensor_instructions,
        tensor_opcodes=" ".join(facts.tensor_opcodes),
        sass_instructions=facts.instructions,
        sass_sha256=sass.sha256(text),
        ptx=_without_folders(kernel.asm["ptx"]),
        sass=text,
    )


def _run_tool(name: str, *arguments: str) -> str:
    """Run a CUDA binary utility, the one of Triton's wheel before the one on PATH."""
    wheel = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / name
    tool = str(wheel) if wheel.is_file() else shutil.which(name)
    if tool is None:
        raise BuildError(
            name, "neither in Triton's wheel nor on PATH", "install the wheel or the CUDA toolkit"
        )
    done = subprocess.run([tool, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(name, f"fails, {' '.join(done.stderr.split())}", "try another version")
    return done.stdout


def _without_folders(ptx: str) -> str:
    """Drop what says in which folder the source lay: debug sections, and folders of ``.file``."""
    code = re.split(r"^\s*\.section\s+\.debug_", ptx, maxsplit=1, flags=re.MULTILINE)[0]
    return re.sub(r'(\.file\s+\d+\s+)"(?:[^"]*/)?([^"/]*)"', r'\1"\2"', code)
