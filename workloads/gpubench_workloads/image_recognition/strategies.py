"""The four strategies: which images a rank loads, and on which of them it trains.

Lawenda et al. (2025), section 3.2. With N GPUs and batches of B images, an epoch of D images is:

                 processes   each loads     each trains on   steps
    DataParallel     1       D              D                D / (N B)   scattered over the GPUs
    DDP              N       D              D                D / B       N epochs' worth of work
    DDP-RR           N       D              D / N            D / (N B)   all data to every GPU
    DDP-DS           N       D / N          D / N            D / (N B)   each its own share

Gradients are averaged over the processes after each step, so every rank must make the same number
of steps; what a strategy does with a remainder is told beside it, and counted exactly in the
result (`samplesLoaded`, `samplesTrained`). All orders are a function of the seed and the epoch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import ceil

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from gpubench.api import enums
from gpubench_workloads.training.errors import BadSpecError

SEEDS_PER_RANK = 10_000
"""Distance between the seeds of two ranks: the most epochs that a spec allows, so that no rank
ever repeats an order of another one."""


@dataclass(frozen=True)
class Strategy(ABC):
    """What one rank does with the dataset: `order` and `trains` say it all."""

    images: int
    """Images of the training set."""
    batch_size: int
    """Images per GPU and step."""
    gpus: int
    """GPUs of the run."""
    rank: int
    """This process among `ranks`."""
    seed: int

    @property
    def ranks(self) -> int:
        """Processes of the run."""
        return self.gpus

    @property
    def loaded_batch_size(self) -> int:
        """Images per loaded batch; the last one of an epoch may be smaller."""
        return self.batch_size

    @abstractmethod
    def order(self, epoch: int, device: torch.device) -> Tensor:
        """Return the images that this rank loads in an epoch (from 0), in order, on a device."""

    def trains(self, batch: int) -> bool:  # noqa: ARG002 - all but DDP-RR train on every batch
        """Return whether this rank trains on a batch (from 0) that it loaded."""
        return True

    def parallel(self, model: nn.Module, device: torch.device) -> nn.Module:
        """Return the model as all GPUs train it together; a single rank has nothing to average."""
        if self.ranks == 1:
            return model
        return DistributedDataParallel(
            model, device_ids=[device] if device.type == "cuda" else None
        )

    @property
    @abstractmethod
    def steps(self) -> int:
        """Steps per epoch."""

    @property
    @abstractmethod
    def full_steps(self) -> int:
        """Steps per epoch in which every rank trains on a full batch; they come first."""

    @property
    @abstractmethod
    def smallest_batch(self) -> int:
        """Fewest images that a GPU ever trains on in a step."""


class DataParallel(Strategy):
    """One process loads a batch for all GPUs; torch.nn.DataParallel scatters it at each step."""

    @property
    def ranks(self) -> int:
        return 1

    @property
    def loaded_batch_size(self) -> int:
        return self.batch_size * self.gpus

    def order(self, epoch: int, device: torch.device) -> Tensor:
        return shuffled(self.images, self.seed + epoch, device)

    def parallel(self, model: nn.Module, device: torch.device) -> nn.Module:
        gpus = list(range(self.gpus)) if device.type == "cuda" else None
        return nn.DataParallel(model, device_ids=gpus)

    @property
    def steps(self) -> int:
        return ceil(self.images / self.loaded_batch_size)

    @property
    def full_steps(self) -> int:
        return self.images // self.loaded_batch_size

    @property
    def smallest_batch(self) -> int:
        last = last_batch(self.images, self.loaded_batch_size)
        # Scattered as torch.chunk does: equal parts, the last GPU gets what is left.
        return last_batch(last, ceil(last / self.gpus))


class DDP(Strategy):
    """Every rank trains on the whole dataset, in an order of its own.

    Of its own, because ranks that trained on the same batches would average equal gradients.
    """

    def order(self, epoch: int, device: torch.device) -> Tensor:
        return shuffled(self.images, self.seed + self.rank * SEEDS_PER_RANK + epoch, device)

    @property
    def steps(self) -> int:
        return ceil(self.images / self.batch_size)

    @property
    def full_steps(self) -> int:
        return self.images // self.batch_size

    @property
    def smallest_batch(self) -> int:
        return last_batch(self.images, self.batch_size)


class DDPRoundRobin(Strategy):
    """Every rank loads every batch and copies it to its GPU; batch i is trained by rank i mod N.

    A last round with fewer batches than ranks is loaded like the others but trained by nobody,
    because ranks without a batch could not take part in the step.
    """

    def order(self, epoch: int, device: torch.device) -> Tensor:
        return shuffled(self.images, self.seed + epoch, device)

    def trains(self, batch: int) -> bool:
        return batch % self.ranks == self.rank and batch < self.steps * self.ranks

    @property
    def steps(self) -> int:
        return ceil(self.images / self.batch_size) // self.ranks

    @property
    def full_steps(self) -> int:
        return self.images // self.batch_size // self.ranks

    @property
    def smallest_batch(self) -> int:
        if self.full_steps == self.steps:
            return self.batch_size
        return last_batch(self.images, self.batch_size)


class DDPDistributedSampler(Strategy):
    """Every rank loads its own N-th of the dataset, newly drawn in each epoch.

    Index for index what torch.utils.data.DistributedSampler(seed=seed) yields after
    set_epoch(epoch), held to that by a test; written out so that it can run on the GPU. Like
    there, the first images are drawn twice where N does not divide the dataset.
    """

    def order(self, epoch: int, device: torch.device) -> Tensor:
        everything = shuffled(self.images, self.seed + epoch, device)
        padding = self.share * self.ranks - self.images
        return torch.cat([everything, everything[:padding]])[self.rank :: self.ranks]

    @property
    def share(self) -> int:
        """Images per rank."""
        return ceil(self.images / self.ranks)

    @property
    def steps(self) -> int:
        return ceil(self.share / self.batch_size)

    @property
    def full_steps(self) -> int:
        return self.share // self.batch_size

    @property
    def smallest_batch(self) -> int:
        return last_batch(self.share, self.batch_size)


STRATEGIES: dict[enums.Strategy, type[Strategy]] = {
    enums.Strategy.DATA_PARALLEL: DataParallel,
    enums.Strategy.DDP: DDP,
    enums.Strategy.DDP_RR: DDPRoundRobin,
    enums.Strategy.DDP_DS: DDPDistributedSampler,
}


def build_strategy(
    name: enums.Strategy, images: int, batch_size: int, gpus: int, rank: int, seed: int
) -> Strategy:
    """Return a strategy by its name in a spec.

    Raises:
        BadSpecError: the dataset is too small for each GPU to train on something in an epoch.
    """
    strategy = STRATEGIES[name](images, batch_size, gpus, rank, seed)
    if images < gpus or strategy.steps == 0:
        needed = gpus if name is not enums.Strategy.DDP_RR else (gpus - 1) * batch_size + 1
        msg = (
            f"dataset: {images} training images are too few for a step with strategy: {name}, "
            f"gpus: {gpus}, batchSize: {batch_size}; needed: at least {needed}"
        )
        raise BadSpecError(msg)
    return strategy


def shuffled(images: int, seed: int, device: torch.device) -> Tensor:
    """Return 0 to images - 1 in the order of a seed, made on the device."""
    generator = torch.Generator(device).manual_seed(seed)
    return torch.randperm(images, generator=generator, device=device)


def last_batch(images: int, batch_size: int) -> int:
    """Return the size of the last of the batches into which images are cut."""
    return images - (ceil(images / batch_size) - 1) * batch_size
