"""The Llamas by name, with the numbers that torchtune's own builders have. Imports no torch.

Sources: torchtune 0.6.1, torchtune/models/llama*/_model_builders.py; held to them by a test.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpubench.api.enums import LanguageModel

TINY_VOCABULARY = 1024
"""Of the project's own tokenizer: bytes, words, special tokens, and room up to a round number."""


@dataclass(frozen=True)
class Architecture:
    """A Llama's shape, and where torchtune builds it."""

    package: str
    """Below torchtune.models."""
    builder: str
    """Name of the plain builder; `lora_` and `qlora_` stand before it for the others."""
    tokenizer: str
    """Builder of its tokenizer, below torchtune.models."""
    checkpoint_type: str
    """torchtune's ModelType."""
    layers: int
    width: int
    """Of an embedding."""
    heads: int
    key_value_heads: int
    feed_forward: int
    """Width of the feed-forward layer."""
    vocabulary: int
    longest_sequence: int
    """Tokens."""
    tied_embeddings: bool = False
    """Whether the output projection is the embedding."""

    @property
    def head_width(self) -> int:
        """Elements per attention head."""
        return self.width // self.heads

    @property
    def layer_projections(self) -> dict[str, int]:
        """Weights of each matrix of one layer, by torchtune's name of its module."""
        key_value = self.width * self.key_value_heads * self.head_width
        return {
            "q_proj": self.width * self.width,
            "k_proj": key_value,
            "v_proj": key_value,
            "output_proj": self.width * self.width,
            "w1": self.width * self.feed_forward,
            "w2": self.width * self.feed_forward,
            "w3": self.width * self.feed_forward,
        }

    @property
    def embedding_parameters(self) -> int:
        """Weights of the embedding; a lookup multiplies none of them."""
        return self.vocabulary * self.width

    @property
    def parameters(self) -> int:
        """All weights."""
        norms = (2 * self.layers + 1) * self.width
        embeddings = self.embedding_parameters * (1 if self.tied_embeddings else 2)
        return self.layers * sum(self.layer_projections.values()) + norms + embeddings


_LLAMA3_8B = Architecture(
    package="llama3",
    builder="llama3_8b",
    tokenizer="llama3.llama3_tokenizer",
    checkpoint_type="LLAMA3",
    layers=32,
    width=4096,
    heads=32,
    key_value_heads=8,
    feed_forward=14_336,
    vocabulary=128_256,
    longest_sequence=8192,
)
_LLAMA3_1_8B = replace(
    _LLAMA3_8B, package="llama3_1", builder="llama3_1_8b", longest_sequence=131_072
)
_LLAMA3_2_1B = replace(
    _LLAMA3_1_8B,
    package="llama3_2",
    builder="llama3_2_1b",
    checkpoint_type="LLAMA3_2",
    layers=16,
    width=2048,
    feed_forward=8192,
    tied_embeddings=True,
)

ARCHITECTURES = {
    LanguageModel.TINY_LLAMA: replace(
        _LLAMA3_8B,
        builder="llama3",
        layers=2,
        # Widths that QLoRA's blocks of 16,384 and QAT's groups of 256 weights divide.
        width=256,
        heads=4,
        key_value_heads=2,
        feed_forward=512,
        vocabulary=TINY_VOCABULARY,
        longest_sequence=1024,
    ),
    LanguageModel.LLAMA3_8B: _LLAMA3_8B,
    LanguageModel.LLAMA3_1_8B: _LLAMA3_1_8B,
    LanguageModel.LLAMA3_2_1B: _LLAMA3_2_1B,
    LanguageModel.LLAMA3_2_3B: replace(
        _LLAMA3_2_1B, builder="llama3_2_3b", layers=28, width=3072, heads=24
    ),
    LanguageModel.LLAMA2_7B: replace(
        _LLAMA3_8B,
        package="llama2",
        builder="llama2_7b",
        tokenizer="llama2.llama2_tokenizer",
        checkpoint_type="LLAMA2",
        key_value_heads=32,
        feed_forward=11_008,
        vocabulary=32_000,
        longest_sequence=4096,
    ),
}
