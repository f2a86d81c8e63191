"""Fetching before a run, and one line where that is refused."""

from __future__ import annotations

from pathlib import Path

import httpx2 as httpx
import pytest
from huggingface_hub.errors import GatedRepoError

from gpubench.api.enums import DatasetName, LanguageModel
from gpubench_workloads.llm_tuning import prepare
from gpubench_workloads.llm_tuning.text_files import COLUMNS


def test_everything_that_can_be_tuned_can_be_fetched() -> None:
    assert set(prepare.MODELS) == set(LanguageModel) - {LanguageModel.TINY_LLAMA}
    assert set(prepare.DATASETS) == set(COLUMNS) <= set(DatasetName)


def test_a_gated_model_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_arguments: object, **_named: object) -> None:
        response = httpx.Response(403, request=httpx.Request("GET", "https://example.org"))
        message = "403 Client Error.\nCannot access gated repo"
        raise GatedRepoError(message, response=response)

    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr("huggingface_hub.snapshot_download", refuse)
    assert prepare.main(["llama3-8b", "--data-root", str(tmp_path)]) == 1
    assert capsys.readouterr().err == (
        "llama3-8b: meta-llama/Meta-Llama-3-8B is gated: accept its licence on its page, then "
        "log in (hf auth login, or HF_TOKEN)\n"
    )


def test_a_network_that_is_not_there_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_arguments: object, **_named: object) -> None:
        message = "no route\nto the host"
        raise ConnectionError(message)

    monkeypatch.setattr("huggingface_hub.snapshot_download", fail)
    assert prepare.main(["samsum", "--data-root", str(tmp_path)]) == 1
    assert capsys.readouterr().err == (
        "samsum: Samsung/samsum could not be fetched: ConnectionError: no route\n"
    )
