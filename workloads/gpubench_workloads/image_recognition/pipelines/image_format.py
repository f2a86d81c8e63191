"""From the bytes of an image to what the model takes, the same on host and device."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

CHANNELS = 3
"""Classifiers of torchvision take RGB."""
BRIGHTEST = 255.0


@dataclass(frozen=True)
class ImageFormat:
    """What images look like when the model gets them."""

    size: int
    """Side in pixels."""
    mean: tuple[float, ...]
    """Of each channel, on a scale of 0 to 1."""
    std: tuple[float, ...]
    """Of each channel, on a scale of 0 to 1."""
    dtype: torch.dtype
    memory_format: torch.memory_format


class ImagePreparation:
    """Resizes, normalises and casts; a step of it, and no step twice, on one device."""

    def __init__(self, image_format: ImageFormat, device: torch.device) -> None:
        self._size = (image_format.size, image_format.size)
        self._dtype = image_format.dtype
        shape = (-1, 1, 1)
        self._mean = BRIGHTEST * torch.tensor(image_format.mean, device=device).view(shape)
        self._scale = 1 / (BRIGHTEST * torch.tensor(image_format.std, device=device).view(shape))

    def __call__(self, pixels: Tensor) -> Tensor:
        """Return bytes [batch, channels, height, width] as [batch, 3, size, size].

        Resized as torchvision.transforms does with antialias=True (it calls the same function),
        in float32 whatever the precision. A single channel is shown three times without being
        copied; who needs three in memory copies last.
        """
        images = pixels.to(torch.float32)
        if images.shape[-2:] != self._size:
            images = F.interpolate(images, self._size, mode="bilinear", antialias=True)
        images = images.sub_(self._mean).mul_(self._scale).to(self._dtype)
        return images.expand(-1, CHANNELS, -1, -1)
