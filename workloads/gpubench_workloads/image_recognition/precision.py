"""Number formats: what a precision and its casting mean for weights, images, loss and Adam."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from gpubench.api.enums import Casting, Precision
from gpubench.api.image_recognition import ImageRecognition

FORMATS = {
    Precision.FP64: torch.float64,
    Precision.FP32: torch.float32,
    Precision.TF32: torch.float32,
    Precision.BF16: torch.bfloat16,
    Precision.FP16: torch.float16,
}
USUAL_EPSILON = 1e-8
PURE_FP16_EPSILON = 1e-4
"""Adam's epsilon in pure FP16, whose smallest number is 6e-8: the usual one would round to zero,
and MobileNetV2 would be NaN at its second step."""


@dataclass(frozen=True)
class NumberFormats:
    """The formats of a run."""

    weights: torch.dtype
    """Of weights, gradients and the optimizer's state."""
    images: torch.dtype
    """Of images, from the moment they are normalised: before they are copied to the device."""
    autocast: torch.dtype | None
    """What torch.autocast casts to where that is safe; None without it."""
    loss: torch.dtype
    """In which logits are turned into a loss."""
    scales_gradients: bool
    """Whether the loss is scaled up, so that small gradients do not round to zero."""
    epsilon: float
    """Adam's."""
    tf32: bool
    """Whether convolutions and matrix products of FP32 may use TF32."""

    @classmethod
    def of(cls, workload: ImageRecognition) -> NumberFormats:
        """Return what a workload's precision and casting mean.

        Images are in the low precision under autocast too: its first act would be to cast them,
        so the numbers are the same and half the bytes travel.
        """
        low = FORMATS[workload.precision]
        autocast = workload.effective_casting is Casting.AUTOCAST
        pure_fp16 = workload.precision is Precision.FP16 and not autocast
        return cls(
            weights=torch.float32 if autocast else low,
            images=low,
            autocast=low if autocast else None,
            loss=torch.float64 if low is torch.float64 else torch.float32,
            scales_gradients=autocast and low is torch.float16,
            epsilon=PURE_FP16_EPSILON if pure_fp16 else USUAL_EPSILON,
            tf32=workload.precision is Precision.TF32,
        )

    def apply_tf32(self) -> None:
        """Allow or forbid TF32, in convolutions as in matrix products; torch's defaults differ."""
        torch.backends.cuda.matmul.allow_tf32 = self.tf32
        torch.backends.cudnn.allow_tf32 = self.tf32

    def loss_of(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Return the mean cross-entropy of logits [batch, classes] and labels [batch]."""
        return F.cross_entropy(logits.to(self.loss), labels)


class AutocastModel(nn.Module):
    """A model whose forward pass runs under autocast.

    Inside the model and not around the call, because the threads of nn.DataParallel would not
    know its format: they would run FP16 where BF16 was asked for.
    """

    def __init__(self, model: nn.Module, low_precision: torch.dtype, device_type: str) -> None:
        super().__init__()
        self.model = model
        self.low_precision = low_precision
        self.device_type = device_type

    def forward(self, images: Tensor) -> Tensor:
        """Return logits [batch, classes]."""
        with torch.autocast(self.device_type, self.low_precision):
            logits: Tensor = self.model(images)
        return logits
