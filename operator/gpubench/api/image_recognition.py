"""The image-recognition workload, as a spec gives it."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from gpubench.api.base import ApiModel, DecimalString, cel_rules
from gpubench.api.enums import (
    Casting,
    CompileMode,
    DatasetName,
    Download,
    Evaluation,
    InputPipeline,
    MemoryFormat,
    Optimizer,
    Precision,
    Strategy,
)

ImageDatasetName = Literal[
    DatasetName.DIGITS, DatasetName.MNIST, DatasetName.IDX, DatasetName.IMAGE_FOLDER
]

LOW_PRECISIONS = frozenset({Precision.BF16, Precision.FP16})


def _forbid_parent_steps(value: str) -> str:
    if ".." in PurePosixPath(value).parts:
        msg = "a dataset path may not contain '..'"
        raise ValueError(msg)
    return value


_NO_PARENT_STEPS = {
    "rule": "self.split('/').all(part, part != '..')",
    "message": "a dataset path may not contain '..'",
}

DatasetPath = Annotated[
    str,
    Field(
        min_length=1,
        max_length=512,
        json_schema_extra={"x-kubernetes-validations": [_NO_PARENT_STEPS]},
    ),
    AfterValidator(_forbid_parent_steps),
]

ModelName = Annotated[str, Field(pattern=r"^[a-zA-Z0-9][a-zA-Z0-9_.\-]*$", max_length=63)]


class ImageDataset(ApiModel):
    """The images that a run trains on."""

    name: ImageDatasetName = DatasetName.MNIST
    """`digits`: scikit-learn's 1,797 digits of 8x8 pixels, embedded. `mnist`: the four IDX files,
    plain or gzip, their content verified. `idx`: any other four files of MNIST's form, such as
    Fashion-MNIST. `image-folder`: `train/<class>/*` and `val/<class>/*`, as ImageNet-1K is laid
    out."""
    path: DatasetPath | None = None
    """Folder of the dataset below the data root: the volume claim on a cluster, `--data` (by
    default the folder you are in) on one machine. By default the dataset's own name."""
    download: Download = Download.IF_MISSING
    """Whether `mnist` may be fetched (checksums verified) where its folder is missing."""
    train_images: Annotated[int, Field(ge=1, le=100_000_000)] | None = None
    """Train on the first N training images only."""
    test_images: Annotated[int, Field(ge=1, le=100_000_000)] | None = None
    """Evaluate on the first N test images only."""


class ImageRecognition(ApiModel):
    """Train an image classifier: MobileNetV2 on MNIST, or any of torchvision on your images."""

    model_config = cel_rules(
        (
            "!has(self.casting) || self.casting == 'Auto' || self.precision in ['BF16', 'FP16']",
            "casting is for BF16 and FP16; leave it out (Auto) otherwise",
            ".casting",
        ),
        (
            "self.dataset.name != 'image-folder' || has(self.dataset.path)",
            "image-folder needs the folder that holds train/ and val/",
            ".dataset.path",
        ),
    )

    model: ModelName = "mobilenet_v2"
    """A classifier of torchvision.models by name, such as mobilenet_v2 or resnet50; initialised at
    random."""
    dataset: ImageDataset = ImageDataset()
    """The images."""
    image_size: Annotated[int, Field(ge=8, le=2048)] = 224
    """Side of the square images in pixels after resizing; the paper uses 28 to 700."""
    epochs: Annotated[int, Field(ge=1, le=10_000)] = 20
    """Passes over the training set."""
    batch_size: Annotated[int, Field(ge=1, le=65_536)] = 64
    """Images per GPU and step. DataParallel, one process for all GPUs, loads this times the number
    of GPUs at each step."""
    strategy: Strategy = Strategy.DDP_DS
    """`DataParallel`: one process, batches scattered over the GPUs. `DDP`: every rank trains on the
    whole dataset. `DDP-RR`: every rank loads and copies every batch and trains on its share.
    `DDP-DS`: DistributedSampler, every rank loads its share only."""
    precision: Precision = Precision.FP32
    """Arithmetic. FP32 is true FP32 (TF32 switched off); TF32 allows it in convolutions and matrix
    products."""
    casting: Casting = Casting.AUTO
    """How BF16 and FP16 are applied. `Pure`: weights, images and arithmetic in that format (the
    paper's FP16). `Autocast`: weights in FP32, arithmetic cast where it is safe, FP16 gradients
    scaled. `Auto`: Pure for FP16, Autocast for BF16."""
    pin_memory: bool = False
    """Whether the DataLoader places batches in page-locked memory."""
    workers: Annotated[int, Field(ge=0, le=128)] = 2
    """DataLoader worker processes per rank; 0 loads in the training process."""
    seed: Annotated[int, Field(ge=0, le=2_147_483_647)] = 0
    """Seed of weights and shuffling."""
    learning_rate: DecimalString = "0.001"
    """Learning rate of the optimizer."""
    optimizer: Optimizer = Optimizer.ADAM
    """Optimizer; its epsilon is 1e-4 in pure FP16, where the usual 1e-8 rounds to zero and divides
    by it."""
    memory_format: MemoryFormat = MemoryFormat.CONTIGUOUS
    """`Contiguous` (NCHW) or `ChannelsLast` (NHWC), which tensor cores prefer."""
    compile: CompileMode = CompileMode.DISABLED
    """Whether and how torch.compile optimises the model."""
    input_pipeline: InputPipeline = InputPipeline.DATA_LOADER
    """`DataLoader`: images are resized and batched on the host and copied (the paper's way).
    `DeviceResident`: the dataset lies on the device as bytes and is resized there, without host
    copies."""
    evaluation: Evaluation = Evaluation.AT_END
    """When accuracy on the test set is measured; never part of the training time."""
    warmup_steps: Annotated[int, Field(ge=0, le=1_000_000)] = 10
    """Steps of each run that steady-state timing leaves out."""

    @model_validator(mode="after")
    def _check_casting(self) -> Self:
        if self.casting is not Casting.AUTO and self.precision not in LOW_PRECISIONS:
            msg = (
                f"casting: {self.casting} has no meaning with precision {self.precision}; "
                "it is for BF16 and FP16, leave it out (Auto) otherwise"
            )
            raise ValueError(msg)
        if self.dataset.name is DatasetName.IMAGE_FOLDER and self.dataset.path is None:
            msg = "dataset.path: image-folder needs the folder that holds train/ and val/"
            raise ValueError(msg)
        return self

    @property
    def effective_casting(self) -> Casting | None:
        """How low precision is applied after `Auto` is resolved; None for FP32, TF32 and FP64."""
        if self.precision not in LOW_PRECISIONS:
            return None
        if self.casting is not Casting.AUTO:
            return self.casting
        return Casting.PURE if self.precision is Precision.FP16 else Casting.AUTOCAST
