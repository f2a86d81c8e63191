"""What a batch holds: sequences, real tokens, padding. Counted on the host, before it is moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torchtune.utils import batch_to_device


@dataclass
class BatchCounts:
    """Counts of one or several batches of one rank."""

    sequences: int = 0
    """Rows. Of preference pairs, each answer with its prompt is one."""
    tokens: int = 0
    """Real tokens: all that the model is given but padding."""
    padding: int = 0
    """Tokens that only fill rows up."""
    learned: int = 0
    """Tokens that the loss counts."""
    attended: int = 0
    """Pairs of a token and one that it may look at: n (n + 1) / 2 for a text of n tokens."""

    def add(self, other: BatchCounts) -> None:
        """Count another's, too."""
        self.sequences += other.sequences
        self.tokens += other.tokens
        self.padding += other.padding
        self.learned += other.learned
        self.attended += other.attended


def count_batch(batch: Any, padding_id: int, ignored_label: int) -> BatchCounts:
    """Return the counts of a batch as torchtune's collation makes it: a dict, or ids and labels."""
    packed_positions = None
    if isinstance(batch, dict):
        ids, labels = batch["tokens"], batch["labels"]
        packed_positions = batch.get("input_pos")
    else:
        ids, labels = batch
    real = ids != padding_id
    tokens = int(real.sum())
    return BatchCounts(
        sequences=len(ids),
        tokens=tokens,
        padding=ids.numel() - tokens,
        learned=int((labels != ignored_label).sum()),
        attended=_attended(real, packed_positions),
    )


def _attended(real: Tensor, packed_positions: Tensor | None) -> int:
    """Return how many tokens each real token may look at, itself included, summed up.

    That is its place in its own text and one more; in packed rows the places start anew with each
    text.
    """
    if packed_positions is None:
        packed_positions = torch.arange(real.shape[1]).expand_as(real)
    return int(((packed_positions + 1) * real).sum())


def move_batch(batch: Any, device: torch.device) -> Any:
    """Return a batch on a device, moved as torchtune's recipes move it."""
    if isinstance(batch, dict):
        batch_to_device(batch, device)
        return batch
    return tuple(part.to(device) for part in batch)
