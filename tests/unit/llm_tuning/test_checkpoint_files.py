"""Checkpoints on disk: found in all forms, and refused where they are another model's."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path

import pytest

from gpubench.api.enums import LanguageModel
from gpubench_workloads.llm_tuning.checkpoint_files import find_checkpoint
from gpubench_workloads.training.errors import DataMissingError

MODEL = LanguageModel.LLAMA3_2_1B


def refusal(folder: Path, model: LanguageModel = MODEL) -> str:
    with pytest.raises(DataMissingError) as caught:
        find_checkpoint(folder, model)
    return str(caught.value)


def write_safetensors(folder: Path, *, layers: int, width: int, feed_forward: int) -> None:
    shapes = {"model.embed_tokens.weight": [128_256, width]}
    for layer in range(layers):
        shapes[f"model.layers.{layer}.mlp.gate_proj.weight"] = [feed_forward, width]
    header = json.dumps({name: {"shape": shape} for name, shape in shapes.items()}).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)


def write_tokenizer(folder: Path, tokens: int = 300) -> None:
    folder.mkdir(exist_ok=True)
    lines = (f"{base64.b64encode(b'x').decode()} {number}\n" for number in range(tokens))
    (folder / "tokenizer.model").write_text("".join(lines), encoding="ascii")


def test_hugging_faces_form_is_found_with_the_tokenizer_below(tmp_path: Path) -> None:
    write_safetensors(tmp_path, layers=16, width=2048, feed_forward=8192)
    write_tokenizer(tmp_path / "original")
    found = find_checkpoint(tmp_path, MODEL)
    assert found.checkpointer == "FullModelHFCheckpointer"
    assert found.files == ("model.safetensors",)
    assert found.tokenizer == tmp_path / "original" / "tokenizer.model"


def test_metas_form_is_found(tmp_path: Path) -> None:
    (tmp_path / "consolidated.00.pth").touch()
    told = {"dim": 4096, "n_layers": 32, "vocab_size": 128_256}
    (tmp_path / "params.json").write_text(json.dumps(told), encoding="utf-8")
    write_tokenizer(tmp_path)
    found = find_checkpoint(tmp_path, LanguageModel.LLAMA3_8B)
    assert found.checkpointer == "FullModelMetaCheckpointer"


def test_weights_of_another_model_are_recognised(tmp_path: Path) -> None:
    write_safetensors(tmp_path, layers=28, width=3072, feed_forward=8192)
    assert refusal(tmp_path) == (
        f"weights of llama3.2-1b: {tmp_path}/model.safetensors looks like llama3.2-3b: 28 layers "
        "of width 3072, vocabulary of 128256, where llama3.2-1b has 16 layers of width 2048, "
        "vocabulary of 128256"
    )
    write_safetensors(tmp_path, layers=3, width=64, feed_forward=128)
    assert "looks like no model known here: 3 layers" in refusal(tmp_path)


def test_what_is_missing_or_damaged_is_told(tmp_path: Path) -> None:
    assert "no folder" in refusal(tmp_path / "nothing")
    assert "holds none of model*.safetensors" in refusal(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"\x01")
    assert "cannot be read" in refusal(tmp_path)
    write_safetensors(tmp_path, layers=16, width=2048, feed_forward=8192)
    assert refusal(tmp_path).startswith("tokenizer of llama3.2-1b: no tokenizer.model in")


def test_a_tokenizer_of_another_kind_is_told(tmp_path: Path) -> None:
    write_safetensors(tmp_path, layers=16, width=2048, feed_forward=8192)
    tokenizer = tmp_path / "tokenizer.model"
    tokenizer.write_bytes(b"\x0a\x05\x00<unk>")
    assert refusal(tmp_path) == (
        f"tokenizer of llama3.2-1b: {tokenizer} is one of Llama 2 (sentencepiece)"
    )
    write_tokenizer(tmp_path, tokens=128_257)
    assert refusal(tmp_path).endswith("has 128257 tokens, the model knows 128256")
