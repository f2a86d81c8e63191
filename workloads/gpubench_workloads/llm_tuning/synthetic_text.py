"""Text made here in the published datasets' own formats, as long as theirs. No torch.

Each word is followed by one of four that belong to it, drawn by the seed, so that there is
something to learn. A prompt's and an answer's lengths in words (each one token) are drawn from
lognormal distributions: median times exp(spread times a normal deviate), cut at a longest.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import exp
from pathlib import Path
from random import Random
from typing import Any

from gpubench.api.enums import DatasetName
from gpubench_workloads.llm_tuning.made_tokenizer import WORDS

FOLLOWERS = 4
"""Words that may follow a word."""
LONGEST_WORDS = 6000
MOST_SAMPLES = 60_000
"""Samples that are written at most: steps look the same long before they run out."""


@dataclass(frozen=True)
class Lengths:
    """How long the samples of a dataset are, in tokens without their template.

    They approximate the datasets; a run on the real data tells that data's own lengths in its
    result (`work.tokensTrained` over `work.samplesTrained`), which is the measure to trust.
    """

    samples: int
    """Of the published dataset (Lawenda et al. 2025, table 4, where it is there)."""
    prompt: float
    """Median."""
    prompt_spread: float
    answer: float
    """Median."""
    answer_spread: float


LENGTHS = {
    DatasetName.ALPACA_CLEANED: Lengths(51_760, 14, 0.6, 105, 1.0),
    DatasetName.GRAMMAR: Lengths(185_000_000, 22, 0.6, 22, 0.6),
    DatasetName.SAMSUM: Lengths(16_369, 130, 0.7, 24, 0.5),
    DatasetName.SLIMORCA: Lengths(363_491, 170, 0.9, 140, 0.9),
    DatasetName.PREFERENCE: Lengths(31_284_837, 180, 0.9, 170, 0.9),
}


class Author:
    """Writes words that follow from one another."""

    def __init__(self, seed: int) -> None:
        """Write the same for the same seed."""
        self._random = Random(seed)
        self._word = 0

    def text(self, words: int, side: int | None = None) -> str:
        """Return the next words; of one half of all words if a side (0 or 1) is given."""
        places = (self._next() for _ in range(words))
        if side is not None:
            places = (place // 2 * 2 + side for place in places)
        return " ".join(WORDS[place % len(WORDS)] for place in places)

    def length(self, median: float, spread: float) -> int:
        """Draw a length in words."""
        drawn = median * exp(spread * self._random.gauss(0.0, 1.0))
        return min(max(round(drawn), 1), LONGEST_WORDS)

    def _next(self) -> int:
        follower = self._random.randrange(FOLLOWERS)
        self._word = (self._word * 7 + follower * 31 + 3) % len(WORDS)
        return self._word


Sample = dict[str, Any]


def _alpaca(author: Author, prompt: int, answer: int) -> Sample:
    return {"instruction": author.text(prompt), "input": "", "output": author.text(answer)}


def _grammar(author: Author, prompt: int, answer: int) -> Sample:
    return {"input": author.text(prompt), "output": author.text(answer)}


def _samsum(author: Author, prompt: int, answer: int) -> Sample:
    return {"id": "0", "dialogue": author.text(prompt), "summary": author.text(answer)}


def _slimorca(author: Author, prompt: int, answer: int) -> Sample:
    human = {"from": "human", "value": author.text(prompt)}
    return {"conversations": [human, {"from": "gpt", "value": author.text(answer)}]}


def _preference(author: Author, prompt: int, answer: int) -> Sample:
    # What makes an answer the better one is the half of the words that it is written in.
    question, better = author.text(prompt), author.text(answer, side=0)
    return {"question": question, "response_j": better, "response_k": author.text(answer, side=1)}


FORMS: dict[DatasetName, Callable[[Author, int, int], Sample]] = {
    DatasetName.ALPACA_CLEANED: _alpaca,
    DatasetName.GRAMMAR: _grammar,
    DatasetName.SAMSUM: _samsum,
    DatasetName.SLIMORCA: _slimorca,
    DatasetName.PREFERENCE: _preference,
}


def make_samples(name: DatasetName, count: int, seed: int) -> Iterator[Sample]:
    """Yield samples in a dataset's published format."""
    author, lengths, form = Author(seed), LENGTHS[name], FORMS[name]
    for _ in range(count):
        prompt = author.length(lengths.prompt, lengths.prompt_spread)
        yield form(author, prompt, author.length(lengths.answer, lengths.answer_spread))


def write_samples(path: Path, name: DatasetName, count: int, seed: int) -> None:
    """Write samples as lines of JSON."""
    with path.open("w", encoding="utf-8") as file:
        for sample in make_samples(name, count, seed):
            file.write(json.dumps(sample) + "\n")
