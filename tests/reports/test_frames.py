from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from reports.frames import NAMES, Frames, FramesError, load, records
from tests.reports.data import empty, make


def store(frames: Frames, folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name in NAMES:
        getattr(frames, name).to_parquet(folder / f"{name}.parquet")
    return folder


def test_what_is_stored_is_loaded(tmp_path: Path) -> None:
    frames = make()
    loaded = load(store(frames, tmp_path / "gelu"))
    assert loaded.operator == "gelu"
    for name in NAMES:
        pd.testing.assert_frame_equal(getattr(loaded, name), getattr(frames, name))


def test_empty_frames_take_their_name_from_the_folder(tmp_path: Path) -> None:
    assert load(store(empty(), tmp_path / "relu")).operator == "relu"


def test_records_have_none_for_na() -> None:
    frame = pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": [float("nan"), 2.0]})
    assert records(frame) == [{"a": 1, "b": None}, {"a": None, "b": 2.0}]


def test_errors_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(FramesError, match="no such folder; run"):
        load(tmp_path / "none")
    folder = store(make(), tmp_path / "gelu")
    (folder / "runs.parquet").unlink()
    with pytest.raises(FramesError, match=r"runs\.parquet: no such file"):
        load(folder)
    (folder / "runs.parquet").write_text("no\nParquet")
    with pytest.raises(FramesError, match="not a Parquet file") as caught:
        load(folder)
    assert "\n" not in str(caught.value)
    pd.DataFrame({"operator": ["gelu"]}).to_parquet(folder / "runs.parquet")
    with pytest.raises(FramesError, match="breaks the schema 'runs'") as caught:
        load(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "message"), [("relu", "several operators"), ("../x", "several operators")]
)
def test_one_folder_is_one_operator(tmp_path: Path, name: str, message: str) -> None:
    frames = make()
    frames.variants["operator"] = pd.array([name] * len(frames.variants), dtype="string")
    with pytest.raises(FramesError, match=message):
        load(store(frames, tmp_path / "gelu"))


def test_an_operator_must_name_a_file(tmp_path: Path) -> None:
    with pytest.raises(FramesError, match="cannot name a file"):
        load(store(empty(), tmp_path / "a b"))
