"""The classifier: built by name, tried without arithmetic, its arithmetic counted."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Sequence

import torch
import torchvision
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils.flop_counter import FlopCounterMode, conv_flop_count

from gpubench_workloads.image_recognition.pipelines.image_format import CHANNELS
from gpubench_workloads.training.errors import BadSpecError

BATCH_NORM_COMPLAINT = "Expected more than 1 value per channel"
"""What torch says when batch normalisation is left with a single value to normalise."""
FEWEST_IMAGES = 4
"""With fewer in a batch, its mean and variance say little about the dataset's."""


def build_model(name: str, classes: int) -> nn.Module:
    """Return a classifier of torchvision.models with random weights, drawn by torch's seed.

    Raises:
        BadSpecError: torchvision has no classifier of this name.
    """
    known = torchvision.models.list_models(module=torchvision.models)
    if name.lower() not in known:
        close = difflib.get_close_matches(name.lower(), known)
        hint = f"did you mean {' or '.join(close)}?" if close else "for example mobilenet_v2"
        msg = f"model: {name} is no classifier of torchvision {torchvision.__version__}; {hint}"
        raise BadSpecError(msg)
    with warnings.catch_warnings():
        # googlenet and inception_v3 announce a change of their initialisation.
        warnings.simplefilter("ignore", FutureWarning)
        model: nn.Module = torchvision.models.get_model(name, weights=None, num_classes=classes)
    return model


def count_flops_per_sample(name: str, classes: int, image_size: int, smallest_batch: int) -> float:
    """Return the floating-point operations of one image's forward and backward pass.

    Tries the model on the meta device, where tensors have shapes and no content: what does not
    work with this model, image size and batch is found in a second and before any training.

    Raises:
        BadSpecError: the model cannot be trained with these.
    """
    batch = min(smallest_batch, 2)
    with torch.device("meta"):
        model = build_model(name, classes).train()
        images = torch.empty(batch, CHANNELS, image_size, image_size)
        labels = torch.empty(batch, dtype=torch.int64)
    counter = FlopCounterMode(
        display=False, custom_mapping={torch.ops.aten.convolution_backward: conv_backward_flops}
    )
    with counter:
        logits = _try(model, images, name)
        F.cross_entropy(logits, labels).backward()
    return counter.get_total_flops() / batch


def small_batch_warning(model: nn.Module, smallest_batch: int, batch_size: int) -> str | None:
    """Return what to tell a person whose last batches spoil batch normalisation, if they do."""
    if smallest_batch >= min(FEWEST_IMAGES, batch_size):
        return None
    if not any(isinstance(module, _BatchNorm) for module in model.modules()):
        return None
    return (
        f"warning: the last batch of an epoch has {smallest_batch} image(s) per GPU; batch "
        "normalisation learns little from so few, which may cost accuracy; choose a batchSize or "
        f"dataset.trainImages that leaves at least {FEWEST_IMAGES}, or none"
    )


def _try(model: nn.Module, images: Tensor, name: str) -> Tensor:
    try:
        logits = model(images)
    except (AssertionError, RuntimeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        if BATCH_NORM_COMPLAINT in reason:
            msg = (
                f"batchSize: the last batch of an epoch has 1 image per GPU, which {name} cannot "
                f"normalise at imageSize {images.shape[-1]} ({reason}); choose another batchSize "
                "or dataset.trainImages"
            )
        else:
            msg = f"imageSize: {images.shape[-1]} does not fit model: {name} ({reason})"
        raise BadSpecError(msg) from error
    if not isinstance(logits, Tensor):
        msg = (
            f"model: {name} returns {type(logits).__name__} when it trains; only classifiers that "
            "return one tensor of logits are supported, such as mobilenet_v2 or resnet50"
        )
        raise BadSpecError(msg)
    return logits


def conv_backward_flops(
    grad_out_shape: torch.Size,
    x_shape: torch.Size,
    w_shape: torch.Size,
    _bias: object,
    _stride: object,
    _padding: object,
    _dilation: object,
    transposed: bool,
    _output_padding: object,
    _groups: int,
    output_mask: Sequence[bool],
    **_shapes: object,
) -> int:
    """Return the operations of a convolution's backward pass.

    Each of the two gradients, of input and weight, costs what the forward pass costs. torch 2.11
    has its own formula, which forgets groups in the weight's gradient: it would count MobileNetV2,
    whose convolutions are depthwise, more than six times.
    """
    forward = conv_flop_count(list(x_shape), list(w_shape), list(grad_out_shape), transposed)
    return forward * sum(map(bool, output_mask[:2]))
