from __future__ import annotations

import pytest

from kernels.harness import sass

# Lines as nvdisasm prints them, with what a reader may trip over.
SNIPPET = """\
	.target	sm_90a
	.section	.text.gelu_kernel,"ax",@progbits
.text.gelu_kernel:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P0 LDG.E.128 R8, desc[UR4][R12.64] ;
        /*0020*/               @P1 LDG.E.U16.CONSTANT R2, desc[UR4][R4.64] ;
        /*0030*/                   LDL.LU R5, [R1+0x4] ;
        /*0040*/                   STL [R1+0x4], R5 ;
        /*0050*/                   STL.64 [R1+0x8], R6 ;
        /*0060*/                   WARPGROUP.ARRIVE ;
        /*0070*/                   HGMMA.64x64x16.F32 R24, gdesc[UR8], R24, !UPT, gsb0 ;
        /*0080*/             @!UP0 UTMALDG.2D [UR8], [UR4] ;
        /*0090*/              @!PT STG.E desc[UR4][R2.64], R8 ;
        /*00a0*/                   EXIT ;
.L_x_0:
        /*00b0*/                   BRA `(.L_x_0);
        /*00c0*/                   NOP;
        /*10000*/                  NOP;
.L_x_1:
"""


def test_summary() -> None:
    assert sass.summarise(SNIPPET) == sass.Summary(
        instructions=12,
        load_bits=128,
        store_bits=32,
        spill_loads=1,
        spill_stores=2,
        tensor_opcodes={"HGMMA": 1},
    )


def test_nothing() -> None:
    summary = sass.summarise("\t.target\tsm_90a\n")
    assert summary == sass.Summary(0, None, None, 0, 0, {})
    assert summary.tensor_instructions == 0


def test_the_hash_is_of_instructions_and_operands_alone() -> None:
    moved = SNIPPET.replace("/*0010*/", "/*0f10*/").replace(".L_x_1:", "// a comment")
    assert sass.sha256(moved) == sass.sha256(SNIPPET)
    assert sass.sha256(SNIPPET.replace("R8 ;", "R9 ;")) != sass.sha256(SNIPPET)
    assert sass.sha256(SNIPPET.replace("@!PT STG", "@PT STG")) != sass.sha256(SNIPPET)


def test_opcodes_of_cuobjdump_and_nvdisasm() -> None:
    text = (
        "        /*0110*/                   LDG.E.64 R2, desc[UR4][R2.64] ;  /* 0x0000000402 */\n"
        "                                                           /* 0x000ea2000c1e1b00 */\n"
    )
    assert sass.opcodes(text) == ["LDG.E.64"]


@pytest.mark.parametrize(
    ("opcode", "bits"),
    [
        ("LDG.E", 32),
        ("LDG.E.U8", 8),
        ("LDG.E.S16", 16),
        ("LDG.E.64.STRONG.GPU", 64),
        ("LDG.E.EF.LTC128B.64", 64),
        ("LDG.E.LTC128B", 32),
        ("LDG.E.ENL2.256", 256),
        ("LD.E.128", 128),
        ("LDGSTS.E.BYPASS.LTC128B.128", 128),
        ("STG.E.ENL2.256", 256),
        ("ST.E.U16", 16),
    ],
)
def test_width(opcode: str, bits: int) -> None:
    assert sass.width_bits(opcode) == bits
    roots = sass.GLOBAL_LOADS | sass.GLOBAL_STORES
    assert sass.widest_bits([opcode], roots) == bits


@pytest.mark.parametrize(
    "opcode",
    ["UTMALDG.2D", "UBLKCP.S.G", "LDS.128", "LDL.128", "LDC.64", "LDSM.16.M88.4", "LDGDEPBAR"],
)
def test_what_is_no_global_load_of_a_thread(opcode: str) -> None:
    assert sass.widest_bits([opcode], sass.GLOBAL_LOADS) is None


def test_tensor_opcodes_by_root() -> None:
    found = [
        "HMMA.16816.F32",
        "HMMA.1688.F32.TF32",
        "IMMA.16832.S8.S8",
        "QGMMA.64x128x32.F32.E4M3.E4M3",
        "UTCHMMA.2CTA",
        "UTCBAR",
        "HFMA2.MMA",
        "FFMA",
        "MUFU.EX2",
        "IMAD.WIDE",
    ]
    assert sass.tensor_opcodes(found) == {"HMMA": 2, "IMMA": 1, "QGMMA": 1, "UTCHMMA": 1}
