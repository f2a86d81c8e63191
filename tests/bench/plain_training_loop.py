"""MobileNetV2 on MNIST as one would write it by hand: what gpubench's own loop is held to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch
from torch.nn import CrossEntropyLoss
from torch.optim import Adam
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import MNIST
from torchvision.models import mobilenet_v2


def plain_steps(root: Path, image_size: int, batch_size: int, workers: int = 0) -> Iterator[float]:
    """Train epoch after epoch; yield the loss after each step.

    `root` holds MNIST/raw with the four IDX files.
    """
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(0)
    transform = transforms.Compose(
        [
            transforms.Resize((image_size, image_size)),
            transforms.Grayscale(3),
            transforms.ToTensor(),
            transforms.Normalize((0.1307,) * 3, (0.3081,) * 3),
        ]
    )
    loader = DataLoader(
        MNIST(root, train=True, transform=transform),
        batch_size=batch_size,
        shuffle=True,
        num_workers=workers,
        persistent_workers=workers > 0,
        pin_memory=device.type == "cuda",
    )
    model = mobilenet_v2(num_classes=10).to(device)
    optimizer = Adam(model.parameters(), lr=0.001)
    loss_function = CrossEntropyLoss()
    model.train()
    while True:
        for host_images, host_labels in loader:
            images = host_images.to(device, non_blocking=True)
            labels = host_labels.to(device, non_blocking=True)
            loss = loss_function(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            yield loss.item()
