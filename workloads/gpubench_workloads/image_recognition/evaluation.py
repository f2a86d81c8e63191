"""Accuracy on the test set: every rank classifies its share, each image exactly once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import torch
from torch import Tensor, nn

from gpubench_workloads.image_recognition.pipelines import InputPipeline
from gpubench_workloads.training.ranks import Ranks


class Evaluator:
    """Measures a model's accuracy; loads no test image before it is first asked to."""

    def __init__(
        self, make_pipeline: Callable[[], InputPipeline], test_images: int, ranks: Ranks
    ) -> None:
        self._make_pipeline = make_pipeline
        self._test_images = test_images
        self._ranks = ranks

    @cached_property
    def _pipeline(self) -> InputPipeline:
        return self._make_pipeline()

    def accuracy(self, model: nn.Module) -> float:
        """Return the share of the test set that a model classifies correctly, from 0 to 1.

        Every rank must call this. The model is the same on all of them but for the running
        statistics of batch normalisation: the first rank's count.
        """
        self._ranks.share_buffers(model)
        order = torch.arange(
            self._ranks.rank,
            self._test_images,
            self._ranks.count,
            device=self._pipeline.order_device,
        )
        correct = torch.zeros((), dtype=torch.int64, device=self._ranks.device)
        model.eval()
        with torch.inference_mode():
            for batch in self._pipeline.batches(order):
                images, labels = self._pipeline.to_device(batch)
                correct += count_correct(model(images), labels)
        model.train()
        total_correct, total_images = self._ranks.total(float(correct), len(order))
        assert total_images == self._test_images
        return total_correct / total_images


def count_correct(logits: Tensor, labels: Tensor) -> Tensor:
    """Return how many rows of logits [batch, classes] are highest at their label, a scalar."""
    return (logits.argmax(dim=1) == labels).sum()
