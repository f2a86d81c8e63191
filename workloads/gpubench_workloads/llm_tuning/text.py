"""The text of a run: found or made, and how torchtune is to load it. No torch."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpubench.api.enums import DatasetName, TextSource
from gpubench.api.llm_tuning import LLMTuning
from gpubench.api.run_spec import RunSpec
from gpubench_workloads.llm_tuning.methods import METHODS
from gpubench_workloads.llm_tuning.synthetic_text import LENGTHS, MOST_SAMPLES, write_samples
from gpubench_workloads.llm_tuning.text_files import COLUMNS, TextFiles, find_text_files
from gpubench_workloads.training.errors import BadSpecError

BUILDERS = {
    DatasetName.ALPACA_CLEANED: "torchtune.datasets.alpaca_dataset",
    DatasetName.GRAMMAR: "torchtune.datasets.grammar_dataset",
    DatasetName.SAMSUM: "torchtune.datasets.samsum_dataset",
    DatasetName.SLIMORCA: "torchtune.datasets.slimorca_dataset",
    DatasetName.PREFERENCE: "torchtune.datasets.stack_exchange_paired_dataset",
}
TEMPLATE_TOKENS = 40
"""Of a sample's template and special tokens, roughly; decides only how much text is made."""


@dataclass(frozen=True)
class Text:
    """The text that a run tunes on."""

    name: DatasetName
    files: TextFiles
    split: str
    """In the words of Hugging Face's datasets."""
    made_samples: int | None
    """Samples that are to be written first; None if the files are there."""
    whole_over_used: float = 1.0
    """How many times the samples at hand make up the whole dataset that they stand for."""

    @property
    def synthetic(self) -> bool:
        """Whether the text is made here."""
        return self.made_samples is not None

    def component(self) -> dict[str, Any]:
        """Return the dataset as a torchtune configuration names it."""
        return {
            "_component_": BUILDERS[self.name],
            **self.files.loading(COLUMNS[self.name]),
            "split": self.split,
        }

    def make(self, seed: int) -> None:
        """Write the text, if it is to be made."""
        if self.made_samples is not None:
            path = self.files.paths[0]
            path.parent.mkdir(parents=True, exist_ok=True)
            write_samples(path, self.name, self.made_samples, seed)


def plan_text(spec: RunSpec, workload: LLMTuning, scratch: Path, sequence: int) -> Text:
    """Return a run's text; what is to be made goes below `scratch`.

    Raises:
        BadSpecError: method and dataset do not go together, or the dataset is too large to make.
        DataMissingError: it is not there, or lacks a column.
    """
    check_method(workload)
    dataset = workload.dataset
    if dataset.source is TextSource.FOLDER:
        files = find_text_files(Path(spec.data_root) / (dataset.path or dataset.name), dataset.name)
        split = f"train[:{dataset.samples}]" if dataset.samples else "train"
        return Text(dataset.name, files, split, made_samples=None)
    path = scratch / f"{dataset.name}.jsonl"
    whole = dataset.samples or LENGTHS[dataset.name].samples
    needed = needed_samples(workload, spec.gpus, sequence)
    made = whole if needed is None else min(whole, needed)
    if made > MOST_SAMPLES:
        msg = (
            f"dataset.source: Synthetic makes at most {MOST_SAMPLES} samples, {dataset.name} has "
            f"{whole}; set maxSteps, or dataset.samples"
        )
        raise BadSpecError(msg)
    return Text(dataset.name, TextFiles((path,), "json"), "train", made, whole / made)


def check_method(workload: LLMTuning) -> None:
    """Check that the method can learn from the dataset.

    Raises:
        BadSpecError: it cannot.
    """
    preference = METHODS[workload.method].preference
    if preference == (workload.dataset.name == DatasetName.PREFERENCE):
        return
    allowed = DatasetName.PREFERENCE if preference else "alpaca-cleaned, grammar, samsum, slimorca"
    msg = (
        f"dataset.name: {workload.dataset.name} does not go with method: {workload.method}; "
        f"allowed: {allowed}"
    )
    raise BadSpecError(msg)


def needed_samples(workload: LLMTuning, ranks: int, sequence: int) -> int | None:
    """Return the samples that `maxSteps` steps need, with some to spare; None without it."""
    if workload.max_steps is None:
        return None
    rows = (workload.max_steps + 1) * workload.batch_size * workload.gradient_accumulation * ranks
    if not workload.packed:
        return rows
    lengths = LENGTHS[workload.dataset.name]
    # The mean of a lognormal distribution is its median times exp(spread squared / 2).
    mean = TEMPLATE_TOKENS + sum(
        median * math.exp(spread**2 / 2)
        for median, spread in (
            (lengths.prompt, lengths.prompt_spread),
            (lengths.answer, lengths.answer_spread),
        )
    )
    return math.ceil(1.5 * rows * max(sequence / mean, 1.0)) + ranks
