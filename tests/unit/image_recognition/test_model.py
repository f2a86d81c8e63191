"""Models by name: tried before they train, their arithmetic counted."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from gpubench_workloads.image_recognition.model import (
    build_model,
    conv_backward_flops,
    count_flops_per_sample,
    small_batch_warning,
)
from gpubench_workloads.training.errors import BadSpecError


def flops_of(name: str, image_size: int, classes: int = 1000, smallest_batch: int = 64) -> float:
    return count_flops_per_sample(name, classes, image_size, smallest_batch)


def error_of(name: str, image_size: int, smallest_batch: int = 64) -> str:
    with pytest.raises(BadSpecError) as caught:
        flops_of(name, image_size, smallest_batch=smallest_batch)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("name", "forward_multiply_adds"),
    [
        # Sandler et al. (2018), table 4: 300 million; torchvision's own count is 0.30 billion.
        ("mobilenet_v2", 0.30e9),
        # torchvision's documentation: 4.09 billion.
        ("resnet50", 4.09e9),
    ],
)
def test_flops_are_those_of_the_literature(name: str, forward_multiply_adds: float) -> None:
    """Two operations per multiply-add, and the backward pass is twice the forward pass.

    Less the gradient of the images, which nobody asks for.
    """
    assert flops_of(name, 224) == pytest.approx(6 * forward_multiply_adds, rel=0.02)


def test_flops_of_a_grouped_convolution_are_counted_by_hand() -> None:
    with torch.device("meta"):
        convolution = nn.Conv2d(8, 16, 3, groups=4, bias=False)
        images = torch.empty(2, 8, 6, 6, requires_grad=True)
    counter = FlopCounterMode(
        display=False, custom_mapping={torch.ops.aten.convolution_backward: conv_backward_flops}
    )
    with counter:
        convolution(images).sum().backward()
    forward = 2 * (2 * 4 * 4 * 16) * (3 * 3 * 8 // 4)  # values of the output x products of each
    assert counter.get_total_flops() == 3 * forward


def test_flops_do_not_depend_on_the_batch() -> None:
    assert flops_of("mobilenet_v2", 64, smallest_batch=1) == flops_of("mobilenet_v2", 64)


def test_an_unknown_name_gets_its_neighbours() -> None:
    message = error_of("mobilnet_v2", 32)
    assert message.startswith("model: mobilnet_v2 is no classifier of torchvision ")
    assert "did you mean mobilenet_v2 or" in message


@pytest.mark.parametrize("name", ["fasterrcnn_resnet50_fpn", "deeplabv3_resnet50", "r3d_18"])
def test_only_classifiers_are_offered(name: str) -> None:
    assert f"model: {name} is no classifier" in error_of(name, 64)


@pytest.mark.parametrize(("name", "size"), [("googlenet", 64), ("inception_v3", 299)])
def test_models_with_several_outputs_are_refused(name: str, size: int) -> None:
    assert "only classifiers that return one tensor of logits" in error_of(name, size)


@pytest.mark.parametrize(("name", "size"), [("alexnet", 32), ("vit_b_16", 32), ("densenet121", 8)])
def test_images_that_are_too_small_are_refused(name: str, size: int) -> None:
    assert error_of(name, size).startswith(f"imageSize: {size} does not fit model: {name} (")


def test_a_last_batch_that_cannot_be_normalised_is_refused() -> None:
    message = error_of("mobilenet_v2", 32, smallest_batch=1)
    assert message.startswith("batchSize: the last batch of an epoch has 1 image per GPU")
    assert flops_of("mobilenet_v2", 32, smallest_batch=2) > 0


def test_weights_are_drawn_by_the_seed() -> None:
    def first_weight(seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        return next(build_model("mobilenet_v2", 10).parameters())

    assert torch.equal(first_weight(1), first_weight(1))
    assert not torch.equal(first_weight(1), first_weight(2))


@pytest.mark.parametrize(
    ("name", "smallest_batch", "batch_size", "warned"),
    [
        ("mobilenet_v2", 2, 32, True),
        ("mobilenet_v2", 3, 32, True),
        ("mobilenet_v2", 4, 32, False),
        ("mobilenet_v2", 32, 32, False),
        ("mobilenet_v2", 2, 2, False),  # as asked for, in every batch
        ("mobilenet_v2", 1, 2, True),
        ("alexnet", 2, 32, False),  # normalises nothing
    ],
)
def test_last_batches_too_small_to_normalise_are_told(
    name: str, smallest_batch: int, batch_size: int, warned: bool
) -> None:
    with torch.device("meta"):
        warning = small_batch_warning(build_model(name, 10), smallest_batch, batch_size)
    if not warned:
        assert warning is None
        return
    assert warning is not None
    assert f"{smallest_batch} image(s) per GPU" in warning
    assert "\n" not in warning
