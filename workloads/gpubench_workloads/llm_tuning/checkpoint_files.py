"""A model's checkpoint on disk: which files it is made of, and of which model it is. No torch.

Three forms are known: Hugging Face's (model-*.safetensors and config.json), Meta's
(consolidated.*.pth and params.json) and torchtune's own (model.pt). What a file says of its shape
is compared with the model that the spec names, before any rank is started.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from gpubench.api.enums import LanguageModel
from gpubench_workloads.llm_tuning.made_tokenizer import TOKENIZER_FILE
from gpubench_workloads.llm_tuning.models import ARCHITECTURES, Architecture
from gpubench_workloads.training.errors import DataMissingError

FORMS = (
    ("FullModelHFCheckpointer", "model*.safetensors"),
    ("FullModelMetaCheckpointer", "consolidated.*.pth"),
    ("FullModelTorchTuneCheckpointer", "model.pt"),
)
"""torchtune's checkpointers and the files that each reads, the first that fits is taken."""
META_FOLDER = "original"
"""Below Hugging Face's form of a Llama: Meta's own."""


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that was found, and the tokenizer beside it."""

    checkpointer: str
    """The class of torchtune that reads it."""
    folder: Path
    files: tuple[str, ...]
    tokenizer: Path


@dataclass(frozen=True)
class Shape:
    """What a checkpoint tells of its model."""

    layers: int
    width: int
    vocabulary: int
    feed_forward: int | None = None
    """Not told by Meta's params.json."""

    @classmethod
    def of(cls, model: Architecture) -> Shape:
        """Return the shape of a model."""
        return cls(model.layers, model.width, model.vocabulary, model.feed_forward)

    def fits(self, model: Architecture) -> bool:
        """Return whether the model has this shape."""
        wanted = Shape.of(model)
        known = self.feed_forward is None or self.feed_forward == wanted.feed_forward
        return known and (self.layers, self.width, self.vocabulary) == (
            wanted.layers,
            wanted.width,
            wanted.vocabulary,
        )

    def __str__(self) -> str:
        return f"{self.layers} layers of width {self.width}, vocabulary of {self.vocabulary}"


def find_checkpoint(folder: Path, model: LanguageModel) -> Checkpoint:
    """Return the checkpoint of a model in a folder, its shape and tokenizer checked.

    Raises:
        DataMissingError: it is not there, or is another model's.
    """
    if not folder.is_dir():
        msg = f"weights of {model}: no folder {folder}; set weights.path, or weights.source: Random"
        raise DataMissingError(msg)
    for place in (folder, folder / META_FOLDER):
        for checkpointer, pattern in FORMS:
            files = sorted(path.name for path in place.glob(pattern))
            if files:
                check_shape(place, files, model)
                tokenizer = find_tokenizer(folder, model)
                return Checkpoint(checkpointer, place, tuple(files), tokenizer)
    patterns = ", ".join(pattern for _, pattern in FORMS)
    msg = f"weights of {model}: {folder} holds none of {patterns}"
    raise DataMissingError(msg)


def check_shape(folder: Path, files: list[str], model: LanguageModel) -> None:
    """Check that a checkpoint is of the model, as far as it tells.

    Raises:
        DataMissingError: it is another one's, or damaged.
    """
    try:
        told = _told_shape(folder, files)
    except (OSError, ValueError, KeyError, struct.error) as error:
        msg = f"weights of {model}: {folder} cannot be read: {type(error).__name__}: {error}"
        raise DataMissingError(msg) from None
    if told is None:
        return
    source, shape = told
    if shape.fits(ARCHITECTURES[model]):
        return
    alike = [name for name, known in ARCHITECTURES.items() if shape.fits(known)]
    looks = f"looks like {' or '.join(alike)}" if alike else "looks like no model known here"
    msg = (
        f"weights of {model}: {source} {looks}: {shape}, where {model} has "
        f"{Shape.of(ARCHITECTURES[model])}"
    )
    raise DataMissingError(msg)


def find_tokenizer(folder: Path, model: LanguageModel) -> Path:
    """Return the file of a model's tokenizer.

    Raises:
        DataMissingError: it is not there, or of another kind.
    """
    for path in (folder / TOKENIZER_FILE, folder / META_FOLDER / TOKENIZER_FILE):
        if path.is_file():
            check_tokenizer(path, model)
            return path
    msg = f"tokenizer of {model}: no {TOKENIZER_FILE} in {folder} or its folder {META_FOLDER}"
    raise DataMissingError(msg)


def check_tokenizer(path: Path, model: LanguageModel) -> None:
    """Check that a tokenizer is of the model's kind and not larger than its vocabulary.

    Raises:
        DataMissingError: it is not.
    """
    wants_tiktoken = ARCHITECTURES[model].checkpoint_type != "LLAMA2"
    is_tiktoken = _is_tiktoken(path)
    if wants_tiktoken != is_tiktoken:
        kind = "of Llama 3 (tiktoken)" if is_tiktoken else "of Llama 2 (sentencepiece)"
        msg = f"tokenizer of {model}: {path} is one {kind}"
        raise DataMissingError(msg)
    if not is_tiktoken:
        return
    with path.open("rb") as file:
        tokens = sum(1 for line in file if line.strip())
    vocabulary = ARCHITECTURES[model].vocabulary
    if tokens > vocabulary:
        msg = f"tokenizer of {model}: {path} has {tokens} tokens, the model knows {vocabulary}"
        raise DataMissingError(msg)


def _is_tiktoken(path: Path) -> bool:
    """Return whether a file is lines of a token in base64 and its number."""
    with path.open("rb") as file:
        lines = list(islice(file, 3))
    return bool(lines) and all(
        len(parts := line.split()) == 2 and parts[1].isdigit() for line in lines
    )


def _told_shape(folder: Path, files: list[str]) -> tuple[Path, Shape] | None:
    """Return what the checkpoint tells, and which file does."""
    if files[0].endswith(".safetensors"):
        shapes: dict[str, list[int]] = {}
        for name in files:
            shapes.update(_safetensors_shapes(folder / name))
        return folder / files[0], _shape_of_weights(shapes)
    parameters = folder / "params.json"
    if files[0].endswith(".pth") and parameters.exists():
        told = json.loads(parameters.read_text(encoding="utf-8"))
        return parameters, Shape(told["n_layers"], told["dim"], told["vocab_size"])
    return None


def _safetensors_shapes(path: Path) -> dict[str, list[int]]:
    """Return the shapes in a file's header: its length in eight bytes, then JSON."""
    with path.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header: dict[str, Any] = json.loads(file.read(length))
    return {name: entry["shape"] for name, entry in header.items() if "shape" in entry}


def _shape_of_weights(shapes: Mapping[str, list[int]]) -> Shape:
    vocabulary, width = shapes["model.embed_tokens.weight"]
    layers = {name.split(".")[2] for name in shapes if name.startswith("model.layers.")}
    return Shape(len(layers), width, vocabulary, shapes["model.layers.0.mlp.gate_proj.weight"][0])
