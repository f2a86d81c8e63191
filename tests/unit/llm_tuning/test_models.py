"""The Llamas' numbers are those of torchtune's builders."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torchtune.models.llama3 import llama3_tokenizer

from gpubench.api.enums import LanguageModel
from gpubench_workloads.llm_tuning.made_tokenizer import (
    WORDS,
    write_special_tokens,
    write_tokenizer,
)
from gpubench_workloads.llm_tuning.models import ARCHITECTURES
from gpubench_workloads.llm_tuning.random_weights import random_state, state_shapes


@pytest.mark.parametrize("model", list(LanguageModel))
def test_every_model_has_as_many_weights_as_torchtune_builds(model: LanguageModel) -> None:
    built = sum(shape.numel() for shape in state_shapes(model).values())
    assert ARCHITECTURES[model].parameters == built


def test_the_published_sizes_are_met() -> None:
    sizes = {model: round(shape.parameters / 1e9, 2) for model, shape in ARCHITECTURES.items()}
    assert sizes == {
        "tiny-llama": 0.0,
        "llama3-8b": 8.03,
        "llama3.1-8b": 8.03,
        "llama3.2-1b": 1.24,
        "llama3.2-3b": 3.21,
        "llama2-7b": 6.74,
    }


def test_random_weights_are_the_same_for_the_same_seed() -> None:
    first, again, other = (
        random_state(LanguageModel.TINY_LLAMA, seed, torch.float32) for seed in (1, 1, 2)
    )
    assert all(torch.equal(first[name], again[name]) for name in first)
    name = "layers.0.attn.q_proj.weight"
    assert not torch.equal(first[name], other[name])
    assert not torch.equal(first[name], first["layers.1.attn.q_proj.weight"])
    assert first[name].std().item() == pytest.approx(0.02, rel=0.02)
    assert bool((first["norm.scale"] == 1).all())


def test_each_word_of_the_made_tokenizer_is_one_token(tmp_path: Path) -> None:
    tokenizer = llama3_tokenizer(
        str(write_tokenizer(tmp_path)), special_tokens_path=str(write_special_tokens(tmp_path))
    )
    text = " ".join(WORDS)
    tokens = tokenizer.encode(text, add_bos=True, add_eos=True)
    assert len(tokens) == len(WORDS) + 2
    assert max(tokens) < ARCHITECTURES[LanguageModel.TINY_LLAMA].vocabulary
    assert tokenizer.decode(tokens) == text


def test_the_made_tokenizer_serves_the_large_models_with_their_own_special_tokens(
    tmp_path: Path,
) -> None:
    tokenizer = llama3_tokenizer(str(write_tokenizer(tmp_path)))
    assert tokenizer.encode("the", add_bos=True, add_eos=False)[0] == 128_000
    assert tokenizer.pad_id < ARCHITECTURES[LanguageModel.LLAMA3_8B].vocabulary
