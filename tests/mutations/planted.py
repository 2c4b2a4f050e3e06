"""Planted changes: what a comparison of two revisions has to find, and what it has to say of them.

Each is a patch in this folder, for ``git apply`` at the root. It changes one Triton kernel or its
launch, as a commit might. Times are named for an H200.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from kernels.harness.spec import Case

FOLDER = Path(__file__).parent


class Verdict(Enum):
    """What becomes of the variant in the case."""

    SLOWER = "slower"
    FASTER = "faster"
    SAME = "same"
    WRONG = "wrong"


class Cause(Enum):
    """What is to be named first: the change itself, not what follows from it.

    A configuration is the cause where the compiled code alone says nothing that would cost time.
    `test_measured` holds each against what an H200 showed.
    """

    ACCESS_WIDTH = "access width"
    BANK_CONFLICTS = "bank conflicts"
    CONFIG = "config"
    DRAM_BYTES = "dram bytes"
    INSTRUCTIONS = "instructions"
    LAUNCHES = "launches"
    NUMERICS = "numerics"
    SECTORS = "sectors"
    SPILLS = "spills"
    TENSOR_CORES = "tensor cores"


class Move(Enum):
    """How a column of the builds changes; ``kernel`` counts the kernels of the case."""

    RISES = "rises"
    FALLS = "falls"
    DIFFERS = "differs"


@dataclass(frozen=True)
class Planted:
    """A planted change.

    Attributes
    ----------
    name
        Name of the patch, without its suffix.
    operator, variant, case
        Where it shows; other variants and cases of the operator may change too.
    change
        What it does, in a few words.
    verdict, cause
        What to expect on the GPU; there is no cause where nothing changes.
    small
        A case for the interpreter, in which the changed code runs; None where it cannot run there.
    build
        Column of the builds for sm_90 that shows the cause, and how; None where no build does.
    also
        Other operators whose sources the patch changes.
    """

    name: str
    operator: str
    variant: str
    case: str
    change: str
    verdict: Verdict
    cause: Cause | None
    small: Case | None
    build: tuple[str, Move] | None = None
    also: tuple[str, ...] = ()

    @property
    def patch(self) -> Path:
        """Path of the patch."""
        return FOLDER / f"{self.name}.patch"

    @property
    def seen_in_build(self) -> bool:
        """Whether the compiled code of sm_90 shows the cause, without a GPU."""
        return self.build is not None


MATRIX = Case((67, 129), "float32")
PRODUCT = Case((67, 129, 33), "float16")
HEADS = Case((1, 2, 1, 67, 64), "float16", ("causal",))
LOGITS = Case((7, 5003), "float32")

PLANTED = (
    Planted(
        name="gelu-narrower-block",
        operator="gelu",
        variant="triton",
        case="8192x8192-float32",
        change="an eighth of the block: a thread loads 4 bytes, once",
        verdict=Verdict.SLOWER,
        cause=Cause.ACCESS_WIDTH,
        small=MATRIX,
        build=("load_bits", Move.FALLS),
        also=("gelu_backward",),
    ),
    Planted(
        name="gelu-masked-throughout",
        operator="gelu",
        variant="triton",
        case="4099x2053-float32",
        change="every block masked, where an odd size splits wide accesses",
        verdict=Verdict.SLOWER,
        cause=Cause.ACCESS_WIDTH,
        small=MATRIX,
        build=("load_bits", Move.FALLS),
        also=("gelu_backward",),
    ),
    Planted(
        name="gelu-renamed-locals",
        operator="gelu",
        variant="triton",
        case="8192x8192-float32",
        change="a local variable renamed: other source, same code",
        verdict=Verdict.SAME,
        cause=None,
        small=MATRIX,
        also=("gelu_backward",),
    ),
    Planted(
        name="vector_add-unspecialised-steps",
        operator="vector_add",
        variant="triton",
        case="268435456-bfloat16",
        change="steps of one no longer known when compiled, so that loads are of one element",
        verdict=Verdict.SLOWER,
        cause=Cause.ACCESS_WIDTH,
        small=Case((5003,), "float32"),
        build=("load_bits", Move.FALLS),
    ),
    Planted(
        name="layer_norm-wider-block",
        operator="layer_norm",
        variant="triton",
        case="16384x4096-float32",
        change="eight rows a program, which leave room for one block an SM, and spill a little",
        verdict=Verdict.SLOWER,
        cause=Cause.SPILLS,
        small=MATRIX,
        build=("registers_per_thread", Move.RISES),
        also=("layer_norm_backward",),
    ),
    Planted(
        name="layer_norm-wrong-variance",
        operator="layer_norm",
        variant="triton",
        case="67x129-float32",
        change="columns past the end count in the variance",
        verdict=Verdict.WRONG,
        cause=Cause.NUMERICS,
        small=MATRIX,
        also=("layer_norm_backward",),
    ),
    Planted(
        name="cross_entropy-uncoalesced",
        operator="cross_entropy",
        variant="triton",
        case="8192x131072-bfloat16",
        change="threads of a warp read 16 bytes each from as many lines",
        verdict=Verdict.SLOWER,
        cause=Cause.SECTORS,
        small=LOGITS,
        also=("cross_entropy_backward",),
    ),
    Planted(
        name="cross_entropy-second-pass",
        operator="cross_entropy",
        variant="triton",
        case="8192x131072-bfloat16",
        change="the maximum taken in a pass of its own, so that rows are read twice",
        verdict=Verdict.SLOWER,
        cause=Cause.DRAM_BYTES,
        small=LOGITS,
        build=("sass_instructions", Move.RISES),
        also=("cross_entropy_backward",),
    ),
    Planted(
        name="softmax-float64",
        operator="softmax",
        variant="triton",
        case="8192x8192-float32",
        change="computed in float64",
        verdict=Verdict.SLOWER,
        cause=Cause.INSTRUCTIONS,
        small=MATRIX,
        build=("sass_instructions", Move.RISES),
        also=("softmax_backward",),
    ),
    Planted(
        name="transpose-bank-conflicts",
        operator="transpose",
        variant="triton",
        case="8192x8192-float32",
        change="the tile turned by a gather down the columns of plain shared memory",
        verdict=Verdict.SLOWER,
        cause=Cause.BANK_CONFLICTS,
        small=Case((128, 64), "float32"),
        also=("matmul_relu", "matmul_sweep"),
    ),
    Planted(
        name="transpose-stores-whole-sectors",
        operator="transpose",
        variant="triton_uncoalesced",
        case="8192x8192-float32",
        change="sixteen rows a program, so that pieces of columns are stored side by side",
        verdict=Verdict.FASTER,
        cause=Cause.ACCESS_WIDTH,
        small=MATRIX,
        build=("store_bits", Move.RISES),
        also=("matmul_relu", "matmul_sweep"),
    ),
    Planted(
        name="matmul_relu-lost-fusion",
        operator="matmul_relu",
        variant="triton_basic",
        case="4096x4096x4096-bfloat16",
        change="the ReLU in a kernel of its own",
        verdict=Verdict.SLOWER,
        cause=Cause.LAUNCHES,
        small=PRODUCT,
        build=("kernel", Move.RISES),
        also=("matmul_sweep",),
    ),
    Planted(
        name="matmul_relu-no-tensor-cores",
        operator="matmul_relu",
        variant="triton_basic",
        case="4096x4096x4096-bfloat16",
        change="operands made float32 before they are multiplied",
        verdict=Verdict.SLOWER,
        cause=Cause.TENSOR_CORES,
        small=PRODUCT,
        build=("tensor_instructions", Move.FALLS),
        also=("matmul_sweep",),
    ),
    Planted(
        name="matmul_relu-two-percent",
        operator="matmul_relu",
        variant="triton_basic",
        case="4096x4096x4096-float32-ieee",
        change="64 more multiplications a thread and step, about one in fifty",
        verdict=Verdict.SLOWER,
        cause=Cause.INSTRUCTIONS,
        small=Case((67, 129, 33), "float32", ("ieee",)),
        build=("sass_instructions", Move.RISES),
        also=("matmul_sweep",),
    ),
    Planted(
        name="matmul_relu-more-stages",
        operator="matmul_relu",
        variant="triton_basic",
        case="4096x4096x4096-bfloat16",
        change="five stages in place of three, with room for one block an SM in place of two",
        verdict=Verdict.SLOWER,
        cause=Cause.CONFIG,
        small=PRODUCT,
        build=("shared_bytes", Move.RISES),
        also=("matmul_sweep",),
    ),
    Planted(
        name="matmul_relu-shorter-tile-list",
        operator="matmul_relu",
        variant="triton",
        case="8192x8192x8192-bfloat16",
        change="the list of tiles to choose from has lost the largest",
        verdict=Verdict.SLOWER,
        cause=Cause.CONFIG,
        small=PRODUCT,
        build=("config", Move.DIFFERS),
        also=("matmul_sweep",),
    ),
    Planted(
        name="attention-autotuned-without-stages",
        operator="attention",
        variant="triton",
        case="4x16x16x4096x128-bfloat16-causal",
        change="tiles by an autotuner, whose list has no configuration that fetches ahead",
        verdict=Verdict.SLOWER,
        cause=Cause.CONFIG,
        small=None,  # Triton's autotuner needs a GPU
        build=("config", Move.DIFFERS),
    ),
    Planted(
        name="attention-missing-num-warps",
        operator="attention",
        variant="triton",
        case="4x16x16x4096x128-bfloat16-causal",
        change="four warps, the default, in place of eight: sums that spill",
        verdict=Verdict.SLOWER,
        cause=Cause.SPILLS,
        small=HEADS,
        build=("spill_stores", Move.RISES),
    ),
    Planted(
        name="attention-larger-accumulators",
        operator="attention",
        variant="triton",
        case="4x16x16x4096x128-bfloat16-causal",
        change="256 rows a block in place of 128: sums that spill",
        verdict=Verdict.SLOWER,
        cause=Cause.SPILLS,
        small=HEADS,
        build=("spill_stores", Move.RISES),
    ),
)
