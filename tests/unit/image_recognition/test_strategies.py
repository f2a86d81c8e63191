"""Which images each rank loads and trains on, held to what the paper's strategies promise."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from math import ceil

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch.utils.data import DistributedSampler, TensorDataset

from gpubench.api import enums
from gpubench_workloads.image_recognition.strategies import (
    SEEDS_PER_RANK,
    Strategy,
    build_strategy,
)
from gpubench_workloads.training.errors import BadSpecError

CPU = torch.device("cpu")
NAMES = list(enums.Strategy)
images_ = st.integers(1, 200)
batch_sizes = st.integers(1, 40)
gpu_counts = st.integers(1, 8)
seeds = st.integers(0, 2**31 - 1)
epochs_ = st.integers(0, 20)


def all_ranks(
    name: enums.Strategy, images: int, batch_size: int, gpus: int, seed: int = 0
) -> list[Strategy]:
    """Return the strategy of every rank, or give up on an example that is too small for it."""
    try:
        first = build_strategy(name, images, batch_size, gpus, 0, seed)
    except BadSpecError:
        assume(False)
        raise
    return [
        build_strategy(name, images, batch_size, gpus, rank, seed) for rank in range(first.ranks)
    ]


def loaded_batches(strategy: Strategy, epoch: int) -> list[list[int]]:
    order = strategy.order(epoch, CPU)
    return [batch.tolist() for batch in order.split(strategy.loaded_batch_size)]


def trained_batches(strategy: Strategy, epoch: int) -> list[list[int]]:
    batches = loaded_batches(strategy, epoch)
    return [batch for number, batch in enumerate(batches) if strategy.trains(number)]


@settings(deadline=None)
@given(st.sampled_from(NAMES), images_, batch_sizes, gpu_counts, seeds, epochs_)
def test_all_ranks_make_the_same_number_of_steps(
    name: enums.Strategy, images: int, batch_size: int, gpus: int, seed: int, epoch: int
) -> None:
    for strategy in all_ranks(name, images, batch_size, gpus, seed):
        assert len(trained_batches(strategy, epoch)) == strategy.steps > 0


@settings(deadline=None)
@given(st.sampled_from(NAMES), images_, batch_sizes, gpu_counts)
def test_full_steps_come_first_and_are_full_on_every_rank(
    name: enums.Strategy, images: int, batch_size: int, gpus: int
) -> None:
    ranks = all_ranks(name, images, batch_size, gpus)
    sizes = zip(*([len(b) for b in trained_batches(s, 0)] for s in ranks), strict=True)
    full = [set(step) == {ranks[0].loaded_batch_size} for step in sizes]
    assert full == [number < ranks[0].full_steps for number in range(ranks[0].steps)]


@settings(deadline=None)
@given(st.sampled_from(NAMES), images_, batch_sizes, gpu_counts)
def test_no_gpu_ever_trains_on_fewer_images_than_promised(
    name: enums.Strategy, images: int, batch_size: int, gpus: int
) -> None:
    ranks = all_ranks(name, images, batch_size, gpus)
    sizes = [len(batch) for strategy in ranks for batch in trained_batches(strategy, 0)]
    if name is enums.Strategy.DATA_PARALLEL:
        sizes = [len(part) for size in sizes for part in torch.arange(size).chunk(gpus)]
    assert min(sizes) == ranks[0].smallest_batch


@settings(deadline=None)
@given(images_, batch_sizes, gpu_counts, seeds, epochs_)
def test_ddp_trains_every_rank_on_the_whole_dataset(
    images: int, batch_size: int, gpus: int, seed: int, epoch: int
) -> None:
    for strategy in all_ranks(enums.Strategy.DDP, images, batch_size, gpus, seed):
        assert sorted(chain(*trained_batches(strategy, epoch))) == list(range(images))


def test_ddp_gives_every_rank_and_epoch_an_order_of_its_own() -> None:
    ranks = all_ranks(enums.Strategy.DDP, 100, 10, 4, seed=7)
    orders = {tuple(s.order(epoch, CPU).tolist()) for s in ranks for epoch in range(5)}
    assert len(orders) == 4 * 5


def test_ddp_ranks_do_not_repeat_each_other_in_the_longest_run() -> None:
    last_of_first_rank = 10_000 - 1
    assert last_of_first_rank < SEEDS_PER_RANK


@settings(deadline=None)
@given(images_, batch_sizes, gpu_counts, seeds, epochs_)
def test_ddp_rr_loads_everything_everywhere_in_one_order(
    images: int, batch_size: int, gpus: int, seed: int, epoch: int
) -> None:
    ranks = all_ranks(enums.Strategy.DDP_RR, images, batch_size, gpus, seed)
    sequences = [loaded_batches(strategy, epoch) for strategy in ranks]
    assert all(sequence == sequences[0] for sequence in sequences)
    assert sorted(chain(*sequences[0])) == list(range(images))


@settings(deadline=None)
@given(images_, batch_sizes, gpu_counts, epochs_)
def test_ddp_rr_trains_batch_i_on_rank_i_mod_n_and_no_incomplete_round(
    images: int, batch_size: int, gpus: int, epoch: int
) -> None:
    ranks = all_ranks(enums.Strategy.DDP_RR, images, batch_size, gpus)
    batches = loaded_batches(ranks[0], epoch)
    in_rounds = len(batches) // gpus * gpus
    for number in range(len(batches)):
        trainers = [strategy.rank for strategy in ranks if strategy.trains(number)]
        assert trainers == ([number % gpus] if number < in_rounds else [])


@settings(deadline=None)
@given(images_, batch_sizes, gpu_counts, seeds, epochs_)
def test_ddp_ds_is_torchs_distributed_sampler(
    images: int, batch_size: int, gpus: int, seed: int, epoch: int
) -> None:
    for strategy in all_ranks(enums.Strategy.DDP_DS, images, batch_size, gpus, seed):
        dataset = TensorDataset(torch.empty(images))
        sampler: DistributedSampler[object] = DistributedSampler(
            dataset, gpus, strategy.rank, seed=seed
        )
        sampler.set_epoch(epoch)
        assert strategy.order(epoch, CPU).tolist() == list(sampler)


@settings(deadline=None)
@given(images_, batch_sizes, gpu_counts, epochs_)
def test_ddp_ds_shares_the_dataset_out_evenly(
    images: int, batch_size: int, gpus: int, epoch: int
) -> None:
    ranks = all_ranks(enums.Strategy.DDP_DS, images, batch_size, gpus)
    drawn = Counter(i for s in ranks for batch in trained_batches(s, epoch) for i in batch)
    assert set(drawn) == set(range(images))
    assert sum(drawn.values()) == ceil(images / gpus) * gpus
    assert max(drawn.values()) <= 2


@settings(deadline=None)
@given(images_, batch_sizes, gpu_counts, seeds, epochs_)
def test_data_parallel_loads_for_all_gpus_in_one_process(
    images: int, batch_size: int, gpus: int, seed: int, epoch: int
) -> None:
    (strategy,) = all_ranks(enums.Strategy.DATA_PARALLEL, images, batch_size, gpus, seed)
    batches = trained_batches(strategy, epoch)
    assert sorted(chain(*batches)) == list(range(images))
    assert all(len(batch) == batch_size * gpus for batch in batches[:-1])


@settings(deadline=None)
@given(st.sampled_from(NAMES), seeds)
def test_epochs_are_shuffled_anew_and_repeatably(name: enums.Strategy, seed: int) -> None:
    strategy = build_strategy(name, 100, 10, 2, 1 if name is not NAMES[0] else 0, seed)
    first, again, second = (strategy.order(epoch, CPU).tolist() for epoch in (0, 0, 1))
    assert first == again != second


@pytest.mark.parametrize(
    ("name", "images", "needed"),
    [("DataParallel", 3, 4), ("DDP", 3, 4), ("DDP-DS", 3, 4), ("DDP-RR", 48, 49)],
)
def test_a_dataset_too_small_for_a_step_is_refused(name: str, images: int, needed: int) -> None:
    strategy = enums.Strategy(name)
    with pytest.raises(BadSpecError) as caught:
        build_strategy(strategy, images, 16, 4, 0, 0)
    assert str(caught.value) == (
        f"dataset: {images} training images are too few for a step with strategy: {name}, "
        f"gpus: 4, batchSize: 16; needed: at least {needed}"
    )
    assert build_strategy(strategy, needed, 16, 4, 0, 0).steps > 0
