"""Processes that measure in alternating rounds, whatever becomes of one of them."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernels.harness.alternation import Ended, Participant, alternate
from kernels.harness.errors import HarnessError
from kernels.harness.turns import SOCKET, turn

NOTE = """
import os, sys, time
from kernels.harness.turns import turn

def note(word):
    line = f"{word} {sys.argv[1]} {time.monotonic_ns()}\\n".encode()
    os.write(log, line)

log = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
"""

MEASURE = """
with turn("cpu", alone=True) as turns:
    with turns.getting_ready():
        note("prepares")
        time.sleep(float(sys.argv[3]))
        note("ready")
    for _ in range(int(sys.argv[4])):
        with turns.round():
            note("begins")
            time.sleep(0.01)
            note("ends")
"""


def participant(
    root: Path, log: Path, name: str, *rest: object, body: str = MEASURE
) -> Participant:
    words = [sys.executable, "-c", NOTE + body, name, str(log), *map(str, rest)]
    return Participant(words, root)


def lines(log: Path) -> list[tuple[str, str, int]]:
    """Return what was noted, by time: word, name and nanoseconds."""
    found = [line.split() for line in log.read_text().splitlines()]
    return sorted(((w, name, int(at)) for w, name, at in found), key=lambda line: line[2])


def test_rounds_alternate_and_never_meet(root: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    ended = alternate([participant(root, log, name, 0, 5) for name in "abc"], "cpu")
    assert ended == [Ended(0, "", 5)] * 3
    rounds = [(word, name) for word, name, _ in lines(log) if word in {"begins", "ends"}]
    order = [name for word, name in rounds if word == "begins"]
    assert rounds == [(word, name) for name in order for word in ("begins", "ends")]
    assert "".join(order) == "abcbcacababcbca"


def test_no_round_begins_before_all_are_ready(root: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    alternate([participant(root, log, "a", 0, 2), participant(root, log, "b", 1, 2)], "cpu")
    words = [word for word, _, _ in lines(log)]
    assert words.index("begins") > max(i for i, word in enumerate(words) if word == "ready")


def test_all_get_ready_at_once(root: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    alternate([participant(root, log, name, 1, 1) for name in "ab"], "cpu")
    words = [word for word, _, _ in lines(log)]
    assert words[:2] == ["prepares", "prepares"]


def test_who_has_fewer_rounds_leaves_the_others_theirs(root: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    ended = alternate([participant(root, log, "a", 0, 1), participant(root, log, "b", 0, 4)], "cpu")
    assert [one.rounds for one in ended] == [1, 4]


def test_one_that_dies_in_its_round_holds_nobody_up(root: Path, tmp_path: Path) -> None:
    log, dies = tmp_path / "log", MEASURE.replace('note("ends")', "sys.exit('broke')")
    broken = participant(root, log, "a", 0, 3, body=dies)
    ended = alternate([broken, participant(root, log, "b", 0, 3)], "cpu")
    assert ended == [Ended(1, "broke\n", 1), Ended(0, "", 3)]


def test_a_process_that_begins_anew_is_asked_anew(root: Path, tmp_path: Path) -> None:
    """As the driver does where the process of all variants died: a process a variant."""
    log = tmp_path / "log"
    again = """
import subprocess
for count in ("1", "2"):
    subprocess.run([sys.executable, "-c", sys.argv[3], *sys.argv[1:3], "0", count], check=True)
"""
    twice = participant(root, log, "a", NOTE + MEASURE, body=again)
    ended = alternate([twice, participant(root, log, "b", 0, 5)], "cpu")
    assert [one.rounds for one in ended] == [3, 5]


def test_one_that_asks_for_nothing_is_told_by_its_rounds(root: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    silent = participant(root, log, "a", body="note('begins'); time.sleep(0.5); note('ends')")
    ended = alternate([silent, participant(root, log, "b", 0, 2)], "cpu")
    assert [one.rounds for one in ended] == [0, 2]
    assert [name for word, name, _ in lines(log) if word == "begins"] == ["a", "b", "b"]


def test_whatever_ends_it_ends_the_others(root: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    code = (
        "import sys; from pathlib import Path\n"
        "from tests.kernels.test_alternation import participant\n"
        "from kernels.harness.alternation import alternate\n"
        "alternate([participant(Path.cwd(), Path(sys.argv[1]), 'a', 600, 1)], 'cpu')"
    )
    command = [sys.executable, "-c", code, str(log)]
    with subprocess.Popen(command, cwd=root, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and not (log.exists() and log.read_text()):
            time.sleep(0.05)
        process.send_signal(2)
        assert process.wait(30) != 0
    found = subprocess.run(["pgrep", "-f", str(log)], capture_output=True, text=True, check=False)
    assert found.stdout == ""


def test_turns_of_one_who_is_gone_are_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with socket.socket(socket.AF_UNIX) as asks:
        asks.bind(str(tmp_path / "turns"))
        asks.listen()
        monkeypatch.setenv(SOCKET, str(tmp_path / "turns"))
        with turn("cpu", alone=True) as turns:
            asks.accept()[0].close()
            with pytest.raises(HarnessError), turns.round():
                raise AssertionError("a turn that nobody gave")
