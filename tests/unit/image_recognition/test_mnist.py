"""The real MNIST, where this machine has it."""

from __future__ import annotations

import numpy as np

from gpubench_workloads.image_recognition.datasets import ArraySplit, check_dataset, load_dataset
from tests.unit.image_recognition.real_mnist import mnist_spec


def test_mnist_is_read_and_verified() -> None:
    spec = mnist_spec()
    check_dataset(spec)
    data = load_dataset(spec)
    assert (len(data.train), len(data.test), data.classes) == (60_000, 10_000, 10)
    assert isinstance(data.train, ArraySplit)
    assert data.train.images.shape == (60_000, 1, 28, 28)
    assert np.bincount(data.train.labels).tolist() == [
        *(5923, 6742, 5958, 6131, 5842),
        *(5421, 5918, 6265, 5851, 5949),
    ]
    # What everybody normalises MNIST with.
    assert (data.describe()["mean"], data.describe()["std"]) == ("0.1307", "0.3081")
