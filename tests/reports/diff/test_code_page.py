"""The page of the code of two revisions, its files, and the command that writes both."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from parsers.schemas import SCHEMAS
from reports.diff.code import builds, code_diffs
from reports.diff.code_page import SHOWN_LINES, Found, code_page, main
from reports.diff.launched import launch_diffs
from reports.format import MISSING
from tests.reports.data import TEMPLATE, counter_rows, launch
from tests.reports.diff.test_code import HOSTILE, OTHER, SASS, build, capture

NAME = "abc..worktree.code"


def counters(rows: list[dict[str, Any]]) -> Any:
    return SCHEMAS["counters"].conform(rows)


def written(
    tmp_path: Path, base: list[dict[str, Any]], head: list[dict[str, Any]]
) -> dict[str, str]:
    before, after = (
        builds(capture(tmp_path / side, *rows)) for side, rows in (("a", base), ("b", head))
    )
    found = Found(builds=len(head), kernels=list(code_diffs(before, after)))
    return code_page("abc", "worktree", found)


def test_launches_are_compared_in_their_order() -> None:
    others = [row for row in counter_rows() if row["variant"] != "triton"]
    two = [
        launch("triton", 1, kernel_demangled="second", grid_y=7),
        launch("triton", 0, kernel_demangled="first\n"),
    ]
    (one,) = launch_diffs(counters(counter_rows()), counters([*others, *two]))
    assert one.key == ("gelu", "triton", "8192x8192-float32")
    assert one.lines == [
        "--- a/gelu/triton/8192x8192-float32.launches",
        "+++ b/gelu/triton/8192x8192-float32.launches",
        "@@ -1 +1,2 @@",
        f"-{TEMPLATE.format(0)}, grid 65536x1x1, block 128x1x1",
        "+first, grid 65536x1x1, block 128x1x1",
        "+second, grid 65536x7x1, block 128x1x1",
    ]
    assert launch_diffs(counters(counter_rows()), counters(counter_rows()[::-1])) == []
    (lost,) = launch_diffs(counters(counter_rows()), counters(others))
    assert lost.lines[:2] == [one.lines[0], "+++ /dev/null"]


def test_every_diff_has_a_file_and_a_folded_block(tmp_path: Path) -> None:
    archs = ("sm_80", "sm_90")
    files = written(
        tmp_path,
        [build(arch=arch) for arch in archs],
        [build(arch=archs[0], sass=OTHER), build(arch=archs[1], sass=OTHER, ptx="ret;\n")],
    )
    stems = {
        f"{NAME}/op/triton/8.k.{end}.diff" for end in ("sm_80.sass", "sm_90.sass", "sm_90.ptx")
    }
    assert set(files) == {f"{NAME}.md", f"{NAME}.html", f"{NAME}/kernels.diff", *stems}
    text = files[f"{NAME}.md"]
    assert "2 of 2 compiled kernels differ in code." in text
    row = "| `op` | `triton` | `8` | `k` | `sm_80` | "
    assert f"{row}[+1 -1]({NAME}/op/triton/8.k.sm_80.sass.diff) | {MISSING} |" in text
    # What differs alike is shown once.
    assert re.findall("<summary>(.*)</summary>", text) == [
        "op/triton/8/k, sm_80, SASS: +1 -1",
        "op/triton/8/k, sm_90, PTX: +1 -7",
    ]
    assert "The same for `op/triton/8/k, sm_90, SASS`." in text
    diff = files[f"{NAME}/op/triton/8.k.sm_80.sass.diff"]
    assert f"```diff\n{diff}```" in text
    assert '<span style="color: var(--accent)">+          LDG.E R4' in files[f"{NAME}.html"]


def test_a_long_diff_is_cut_and_says_where_the_rest_is(tmp_path: Path) -> None:
    long = SASS + "".join(f"        /*{at:04x}*/ FADD R{at}, R1, R2 ;\n" for at in range(300))
    files = written(tmp_path, [build()], [build(sass=long)])
    path = f"{NAME}/op/triton/8.k.sm_90.sass.diff"
    left = len(files[path].splitlines()) - SHOWN_LINES
    assert f"{left} more lines stand in [8.k.sm_90.sass.diff]({path})." in files[f"{NAME}.md"]
    assert "FADD R299" in files[path]
    assert "FADD R299" not in files[f"{NAME}.md"]


def test_nothing_that_differs_is_said(tmp_path: Path) -> None:
    text = written(tmp_path, [build()], [build()])[f"{NAME}.md"]
    assert "0 of 1 compiled kernel differ in code." in text
    assert "None compiles to other code." in text
    assert "## Kernels launched\n\nNone were compared." in text
    assert "Nothing was compared." in code_page("abc", "worktree", Found())[f"{NAME}.md"]


def test_names_and_code_are_data(tmp_path: Path) -> None:
    kernel = f"{HOSTILE}\n\n# y"
    text = SASS.replace("EXIT ;", "EXIT ;\n````` </code></details><script>alert(1)</script>")
    failed = build(kernel, arch="sm_80", status="failed", reason=HOSTILE, sass=None, ptx=None)
    files = written(
        tmp_path,
        [build(kernel), build(kernel, arch="sm_80")],
        [build(kernel, sass=text), failed],
    )
    found = Found(
        launches=launch_diffs(counters([]), counters([launch(HOSTILE, 0, kernel_demangled=kernel)]))
    )
    for page in (files, code_page("abc", "worktree", found)):
        assert "<script>alert" not in page[f"{NAME}.html"]
        assert not re.search("^# y", page[f"{NAME}.md"], re.MULTILINE)
        rows = [row for row in page[f"{NAME}.md"].splitlines() if row.startswith("| `")]
        assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} <= {5, 8}
        assert page[f"{NAME}.html"].count("<details>") == page[f"{NAME}.html"].count("</details>")
        assert all(re.fullmatch(r"[\w.+/-]+", path) and ".." not in path[12:] for path in page)
    assert "No build in head: a\\|b\\`c\\`" in files[f"{NAME}.md"]


def test_names_that_make_one_path_keep_a_file_each(tmp_path: Path) -> None:
    names = ("a b", "a/b")
    files = written(
        tmp_path, [build(name) for name in names], [build(name, sass=OTHER) for name in names]
    )
    stem = f"{NAME}/op/triton/8.a_b.sm_90.sass"
    assert {f"{stem}.diff", f"{stem}-2.diff"} <= set(files)


def test_the_command_writes_all(tmp_path: Path) -> None:
    sides = []
    for side, sass, rows in (("a", SASS, counter_rows()), ("b", OTHER, counter_rows()[1:])):
        sides.append(str(capture(tmp_path / side, build(sass=sass))))
        counters(rows).to_parquet(tmp_path / side / "counters.parquet")
    names = ["--base-name", "abc", "--head-name", "worktree", "--out", str(tmp_path / "out")]
    folders = [str(tmp_path / side) for side in "ab"]
    note = "--note=<script>alert(1)</script>"
    assert main([*names, "--built", *sides, "--launched", *folders, note]) == 0
    text = (tmp_path / f"out/{NAME}.md").read_text()
    assert "1 of 1 compiled kernel differ in code; 1 of 4 pairs of variant and case" in text
    assert "<script>" not in text
    launches = (tmp_path / f"out/{NAME}/kernels.diff").read_text()
    assert launches.startswith("--- a/gelu/naive/8192x8192-float32.launches\n")
    assert (tmp_path / f"out/{NAME}/op/triton/8.k.sm_90.sass.diff").is_file()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--built", "one"], "--built takes two folders"),
        (["--built", "no", "no"], "no/run.json: no such file"),
        (["--launched", "no", "no"], "no/counters.parquet: no such file"),
    ],
)
def test_a_mistake_is_one_line(
    options: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["--base-name", "abc", "--head-name", "worktree", "--out", str(tmp_path)]
    try:
        status: Any = main([*names, *options])
    except SystemExit as stopped:
        status = stopped.code
    (line,) = capsys.readouterr().err.splitlines()
    assert status == 2
    assert line.startswith(f"error: {said}")
