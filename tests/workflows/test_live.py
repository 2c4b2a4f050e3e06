"""Two revisions measured in alternating rounds: what is planned, and what is done."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from parsers.captures import parse_pass
from tests.checkouts import ROOT, copy_checkout
from tests.workflows.repositories import commit, git, start, state, write
from tests.workflows.running import planned, snakemake

OPERATOR = "vector_add"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of which the kernel of one operator was changed since its only commit."""
    where = copy_checkout(tmp_path_factory.mktemp("live") / "checkout")
    shutil.rmtree(where / "captures")
    git(where, "init", "--quiet", "--initial-branch=main")
    commit(where, "before")
    git(where, "apply", "tests/mutations/vector_add-unspecialised-steps.patch")
    return where


def test_the_operator_that_changed_is_measured_alone(checkout: Path, live: Path) -> None:
    both = {"build": 1, "check": 1, "ncu": 1}
    base = {f"{name}_revision": count for name, count in both.items()}
    found = planned(checkout, "reports/diff", "--config", "base=main", path=live)
    assert found == {
        **(both | base),
        "alternate": 1,
        "parse_measured": 2,
        "metrics": 1,
        "diff": 1,
        "reports/diff": 1,
    }


def test_what_is_the_same_is_not_measured(checkout: Path, live: Path) -> None:
    config = ("--config", "base=main", "head=main")
    found = planned(checkout, "reports/diff", *config, path=live)
    assert found == {"diff": 1, "metrics": 1, "reports/diff": 1}


def test_a_base_that_cannot_take_turns_is_one_line(
    checkout: Path, live: Path, tmp_path: Path
) -> None:
    where = Path(shutil.copytree(checkout, tmp_path / "checkout", symlinks=True))
    (where / "kernels/harness/alternation.py").rename(where / "kernels/harness/alternately.py")
    earlier = commit(where, "no turns")
    git(where, "revert", "--no-edit", "HEAD")
    config = ("--config", f"base={earlier}")
    code, output = snakemake(where, "reports/diff", *config, "--dry-run", path=live)
    assert code != 0
    assert f"revision {earlier}: from before two could be measured in alternating rounds" in output


def test_the_noise_is_that_of_every_operator(checkout: Path, live: Path) -> None:
    names = '["gelu","vector_add"]'
    config = ("--config", f"operators={names}")
    found = planned(checkout, "reports/noise", *config, path=live)
    each = dict.fromkeys(("check", "alternate_alike", "parse_alike"), 2)
    assert found == each | {"report_noise": 1, "reports/noise": 1}
    code, output = snakemake(checkout, "reports/noise", *config, "source=replay", "gpu=h200")
    assert code != 0
    assert "captures/ holds no capture" in output


HARNESS = '''
"""Stands in for a harness: takes turns, and writes what gelu.py says that it took."""
import argparse
import random
import sys
import time
from pathlib import Path

from kernels.harness.turns import turn
from tests.parsers.folders import write_pass

parser = argparse.ArgumentParser()
parser.add_argument("name")
parser.add_argument("operator")
for option in ("out", "check", "cases", "warm-up-s"):
    parser.add_argument(f"--{option}")
for option in ("rounds", "first-round"):
    parser.add_argument(f"--{option}", type=int)
options = parser.parse_args()
wanted = Path("kernels/gelu.py").read_text()
if wanted == "broken":
    sys.exit("error: kernels/gelu.py: no variant computes the right thing; mend it")
rows = ["operator,variant,case,round,duration_ns"]
with turn("cuda", alone=True) as turns:
    with turns.getting_ready():
        if wanted == "slow":
            Path(options.out).mkdir(parents=True)
            time.sleep(600)
    for number in range(options.rounds):
        with turns.round():
            for variant in ("naive", "triton"):
                taken = float(wanted) * random.gauss(1e6, 1e3)
                rows.append(f"gelu,{variant},small,{options.first_round + number},{taken}")
tables = {"samples.csv": rows, "ceilings.csv": ["operator,ceiling,case,round,duration_ns"]}
contents = {name: "\\n".join([*lines, ""]).encode() for name, lines in tables.items()}
write_pass(Path(options.out), "time", contents)
'''


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose harness stands in for one that needs a GPU."""
    root = start(tmp_path / "repository")
    for name in ("turns.py", "machine.py", "errors.py", "alternation.py"):
        shutil.copy(ROOT / "kernels/harness" / name, root / "kernels/harness" / name)
    write(root, "kernels/harness/__init__.py")
    write(root, "kernels/harness/__main__.py", HARNESS)
    write(root, "kernels/gelu.py", "1.0")
    commit(root, "base")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return root


def command(*options: str) -> list[str]:
    """Return the command, by the code of this checkout, to be run in a repository."""
    code = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); "
        "from workflows.alternate import main; sys.exit(main(sys.argv[1:]))"
    )
    return [sys.executable, "-P", "-c", code, str(ROOT), "gelu", *options, "--rounds", "20"]


def alternate(root: Path, *options: str) -> tuple[int, str]:
    """Run the command in a repository; return its status and what it printed of errors."""
    done = subprocess.run(command(*options), cwd=root, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def measured(out: Path) -> list[str]:
    return sorted(path.parent.relative_to(out).as_posix() for path in out.rglob("run.json"))


BOTH = ("main", "worktree", "--checks", "check", "check", "--out", "out", "--sessions", "3")


@pytest.mark.parametrize(
    ("factor", "sessions"),
    [("1.0", 1), ("1.5", 1), ("1.03", 3)],
)
def test_a_change_near_the_noise_is_measured_again(
    repository: Path, factor: str, sessions: int
) -> None:
    write(repository, "kernels/gelu.py", factor)
    before = state(repository)
    assert alternate(repository, *BOTH) == (0, "")
    out = repository / "out"
    assert measured(out) == [f"{s}/{side}/time" for s in range(sessions) for side in "01"]
    last = parse_pass(out / f"{sessions - 1}/1/time")["samples"]
    assert set(last["round"]) == set(range(20 * (sessions - 1), 20 * sessions))
    shutil.rmtree(out)
    assert state(repository) == before
    assert len(git(repository, "worktree", "list").splitlines()) == 1


def test_processes_of_one_source_are_measured_once(repository: Path) -> None:
    names = ["worktree"] * 3
    options = (*names, "--checks", *["check"] * 3, "--out", "out", "--sessions", "3")
    assert alternate(repository, *options) == (0, "")
    assert measured(repository / "out") == ["0/0/time", "0/1/time", "0/2/time"]


def test_a_side_that_cannot_be_measured_is_one_line(repository: Path) -> None:
    write(repository, "kernels/gelu.py", "broken")
    code, output = alternate(repository, *BOTH)
    assert code == 2
    assert output.splitlines()[-1] == (
        "error: revision worktree: kernels/gelu.py: no variant computes the right thing; mend it;"
        " the log holds all that it printed"
    )
    assert len(git(repository, "worktree", "list").splitlines()) == 1


def test_a_harness_that_takes_no_turns_is_one_line(repository: Path) -> None:
    main = repository / "kernels/harness/__main__.py"
    main.write_text(main.read_text().replace("with turns.round():", "if True:"))
    code, output = alternate(repository, *BOTH)
    assert code == 2
    assert "error: revision worktree: its harness was given no round" in output


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_whatever_ends_it_leaves_no_checkout_and_no_process(
    repository: Path, number: signal.Signals
) -> None:
    write(repository, "kernels/gelu.py", "slow")
    before = state(repository)
    with subprocess.Popen(command(*BOTH), cwd=repository, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and not (repository / "out/0/1/time").exists():
            time.sleep(0.05)
        process.send_signal(number)
        assert process.wait(30) != 0
    found = subprocess.run(
        ["pgrep", "-f", str(repository / "out")], capture_output=True, text=True, check=False
    )
    assert found.stdout == ""
    shutil.rmtree(repository / "out")
    assert state(repository) == before
    assert len(git(repository, "worktree", "list").splitlines()) == 1
