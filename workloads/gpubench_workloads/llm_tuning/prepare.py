"""`python -m gpubench_workloads.llm_tuning.prepare`: fetch weights or text before any run.

Runs fetch nothing, so that what they measure does not hang on a network. This fetches the
published files from Hugging Face's hub into the folder in which runs look for them.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from gpubench.api.enums import DatasetName, LanguageModel

MODELS = {
    LanguageModel.LLAMA3_8B: "meta-llama/Meta-Llama-3-8B",
    LanguageModel.LLAMA3_1_8B: "meta-llama/Llama-3.1-8B",
    LanguageModel.LLAMA3_2_1B: "meta-llama/Llama-3.2-1B",
    LanguageModel.LLAMA3_2_3B: "meta-llama/Llama-3.2-3B",
    LanguageModel.LLAMA2_7B: "meta-llama/Llama-2-7b-hf",
}
DATASETS = {
    DatasetName.ALPACA_CLEANED: "yahma/alpaca-cleaned",
    DatasetName.GRAMMAR: "liweili/c4_200m",
    DatasetName.SAMSUM: "Samsung/samsum",
    DatasetName.SLIMORCA: "Open-Orca/SlimOrca-Dedup",
    DatasetName.PREFERENCE: "lvwerra/stack-exchange-paired",
}
"""Those that torchtune's builders name."""
WEIGHT_FILES = ["*.safetensors", "*.json", "*tokenizer.model"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Fetch what is named; return 0 if it is there, 1 if it could not be fetched, and say why."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=[*map(str, MODELS), *map(str, DATASETS)])
    parser.add_argument("--data-root", type=Path, default=Path(), help="default: this folder")
    options = parser.parse_args(arguments)
    folder = options.data_root / options.name
    try:
        fetch(options.name, folder)
    except Exception as error:  # noqa: BLE001 - the hub's client raises many kinds
        print(describe_refusal(options.name, error), file=sys.stderr)
        return 1
    print(folder)
    return 0


def fetch(name: str, folder: Path) -> None:
    """Fetch a model or a dataset into a folder; what is there already is not fetched again."""
    from huggingface_hub import snapshot_download

    if name in list(MODELS):
        snapshot_download(
            MODELS[LanguageModel(name)], local_dir=folder, allow_patterns=WEIGHT_FILES
        )
    else:
        snapshot_download(
            DATASETS[DatasetName(name)],
            repo_type="dataset",
            local_dir=folder,
            allow_patterns=["data/rl/*"] if name == DatasetName.PREFERENCE else None,
        )


def describe_refusal(name: str, error: Exception) -> str:
    """Return in one line why something could not be fetched, and what to do about it."""
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    place = MODELS.get(name) or DATASETS.get(name)  # type: ignore[call-overload]  # str enums
    if isinstance(error, GatedRepoError):
        known = "your token has not been granted it" if os.environ.get("HF_TOKEN") else "log in"
        return (
            f"{name}: {place} is gated: accept its licence on its page, then {known} "
            "(hf auth login, or HF_TOKEN)"
        )
    if isinstance(error, RepositoryNotFoundError):
        return f"{name}: {place} is not there, or not for you: hf auth login, or HF_TOKEN"
    first = next(iter(str(error).strip().splitlines()), "")
    return f"{name}: {place} could not be fetched: {type(error).__name__}: {first}"


if __name__ == "__main__":
    sys.exit(main())
