"""Datasets on disk, in the formats in which they are published."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from gpubench.api.enums import DatasetName
from gpubench_workloads.llm_tuning.synthetic_text import make_samples
from gpubench_workloads.llm_tuning.text_files import COLUMNS, find_text_files
from gpubench_workloads.training.errors import DataMissingError


def refusal(folder: Path, name: DatasetName) -> str:
    with pytest.raises(DataMissingError) as caught:
        find_text_files(folder, name)
    return str(caught.value)


@pytest.mark.parametrize("name", COLUMNS)
def test_made_text_has_the_columns_of_the_published_one(tmp_path: Path, name: DatasetName) -> None:
    samples = list(make_samples(name, 3, seed=5))
    assert samples == list(make_samples(name, 3, seed=5))
    (tmp_path / "data.json").write_text(json.dumps(samples, indent=2), encoding="utf-8")
    found = find_text_files(tmp_path, name)
    assert found.loading(COLUMNS[name]) == {
        "source": "json",
        "data_files": [str(tmp_path / "data.json")],
    }


def test_the_training_part_is_taken_where_there_are_several(tmp_path: Path) -> None:
    rows = pl.DataFrame({"id": ["1"], "dialogue": ["a"], "summary": ["b"]})
    for part in ("train", "test", "validation"):
        rows.write_parquet(tmp_path / f"{part}-00000-of-00001.parquet")
    found = find_text_files(tmp_path, DatasetName.SAMSUM)
    assert [path.name for path in found.paths] == ["train-00000-of-00001.parquet"]
    assert found.kind == "parquet"


def test_tables_without_names_of_columns_get_them(tmp_path: Path) -> None:
    (tmp_path / "C4_200M.tsv").write_text("He go .\tHe goes .\n", encoding="utf-8")
    found = find_text_files(tmp_path, DatasetName.GRAMMAR)
    loading = found.loading(COLUMNS[DatasetName.GRAMMAR])
    assert (loading["sep"], loading["column_names"]) == ("\t", ["input", "output"])


def test_a_missing_column_is_named_and_the_dataset_recognised(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text('{"dialogue": "a", "summary": "b"}\n', encoding="utf-8")
    assert refusal(tmp_path, DatasetName.ALPACA_CLEANED) == (
        f"dataset alpaca-cleaned: {tmp_path}/train.jsonl lacks column instruction, input, output; "
        "it has dialogue, summary, as samsum has"
    )


def test_what_is_not_there_or_damaged_is_told(tmp_path: Path) -> None:
    name = DatasetName.SAMSUM
    assert "no folder" in refusal(tmp_path / "nothing", name)
    assert "holds no file" in refusal(tmp_path, name)
    (tmp_path / "train.json").write_text("[{", encoding="utf-8")
    assert f"{tmp_path}/train.json cannot be read" in refusal(tmp_path, name)
