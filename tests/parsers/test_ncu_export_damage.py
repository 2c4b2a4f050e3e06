"""Exports of Nsight Compute that were cut or overwritten: an error or whole launches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsers import ncu_csv, ncu_text
from parsers.errors import CaptureError
from parsers.schemas import COUNTERS
from tests.parsers.test_ncu_csv import LONG, SOL, WIDE, long, quoted


def refusal(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(CaptureError) as caught:
        ncu_csv.parse(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("text", [quoted(WIDE), long((SOL, "Duration", "ns", "12,345.5"))])
def test_cut_at_any_byte(tmp_path: Path, text: str) -> None:
    """Whole rows alone are launches; where nothing but the last newline is cut, nothing is lost."""
    whole = {text[: at + 1] for at, sign in enumerate(text) if sign == "\n"}
    for size in range(1, len(text)):
        cut = text[:size]
        if cut in whole or cut + "\n" in whole:
            continue
        assert refusal(tmp_path / "cut", cut.encode())


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([quoted(WIDE), long((SOL, "Duration", "us", "1,234.5"))]),
    st.lists(
        st.tuples(st.floats(0, 1), st.integers(0, 9), st.binary(max_size=4)), min_size=1, max_size=4
    ),
)
def test_damage_gives_an_error_or_launches(
    tmp_path_factory: pytest.TempPathFactory, text: str, damage: list[tuple[float, int, bytes]]
) -> None:
    content = text.encode()
    for place, length, inserted in damage:
        at = int(place * len(content))
        content = content[:at] + inserted + content[at + length :]
    path = tmp_path_factory.mktemp("damaged") / "export"
    path.write_bytes(content)
    for module in (ncu_csv, ncu_text):
        try:
            frame = module.parse(path)
        except CaptureError as error:
            assert "\n" not in str(error)  # noqa: PT017
        else:
            assert len(frame) >= 1
            assert list(frame.columns) == list(COUNTERS.columns)


@pytest.mark.parametrize("name", ["h200/gelu.ncu-raw-base-units.csv", "h200/gelu.ncu-details.csv"])
@pytest.mark.parametrize("sixteenth", range(1, 16))
def test_truncated_export(
    shared: Callable[[str], Path], tmp_path: Path, name: str, sixteenth: int
) -> None:
    content = shared(name).read_bytes()
    message = refusal(tmp_path / "cut", content[: len(content) * sixteenth // 16])
    assert "truncated" in message or "is not a CSV export" in message


def test_cut_between_the_rows_of_a_launch(tmp_path: Path) -> None:
    metrics = [[SOL, "Duration", "ns", "1"], [SOL, "SM Frequency", "hz", "2"]]
    rows = [[str(at), "k", *metric] for at in range(3) for metric in metrics]
    path = tmp_path / "export"
    path.write_text(quoted([LONG, *rows]), encoding="utf-8")
    assert len(ncu_csv.parse(path)) == 3
    message = refusal(path, quoted([LONG, *rows[:-1]]).encode())
    assert "is truncated: its last launch has 1 metrics, not 2" in message
