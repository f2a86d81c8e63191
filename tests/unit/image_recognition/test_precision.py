"""What each precision and casting means."""

from __future__ import annotations

import threading

import pytest
import torch
from torch import nn

from gpubench.api.enums import Precision
from gpubench.api.image_recognition import ImageRecognition
from gpubench_workloads.image_recognition.precision import (
    FORMATS,
    AutocastModel,
    NumberFormats,
)

F64, F32, BF16, F16 = torch.float64, torch.float32, torch.bfloat16, torch.float16


def formats(precision: str, casting: str = "Auto") -> NumberFormats:
    fields = {"precision": precision, "casting": casting}
    return NumberFormats.of(ImageRecognition.model_validate(fields))


@pytest.mark.parametrize(
    ("precision", "casting", "expected"),
    [
        ("FP64", "Auto", NumberFormats(F64, F64, None, F64, False, 1e-8, tf32=False)),
        ("FP32", "Auto", NumberFormats(F32, F32, None, F32, False, 1e-8, tf32=False)),
        ("TF32", "Auto", NumberFormats(F32, F32, None, F32, False, 1e-8, tf32=True)),
        ("BF16", "Auto", NumberFormats(F32, BF16, BF16, F32, False, 1e-8, tf32=False)),
        ("BF16", "Autocast", NumberFormats(F32, BF16, BF16, F32, False, 1e-8, tf32=False)),
        ("BF16", "Pure", NumberFormats(BF16, BF16, None, F32, False, 1e-8, tf32=False)),
        ("FP16", "Auto", NumberFormats(F16, F16, None, F32, False, 1e-4, tf32=False)),
        ("FP16", "Pure", NumberFormats(F16, F16, None, F32, False, 1e-4, tf32=False)),
        ("FP16", "Autocast", NumberFormats(F32, F16, F16, F32, True, 1e-8, tf32=False)),
    ],
)
def test_every_precision_and_casting(precision: str, casting: str, expected: NumberFormats) -> None:
    assert formats(precision, casting) == expected


def test_no_precision_is_forgotten() -> None:
    assert set(FORMATS) == set(Precision)


def test_epsilon_is_a_number_in_the_format_of_the_weights() -> None:
    for precision in Precision:
        of_precision = formats(precision)
        assert torch.tensor(of_precision.epsilon).to(of_precision.weights) > 0


def test_tf32_is_switched_on_and_off_in_both_places() -> None:
    for precision in ("TF32", "FP32", "TF32", "BF16"):
        formats(precision).apply_tf32()
        allowed = precision == "TF32"
        assert torch.backends.cuda.matmul.allow_tf32 is allowed
        assert torch.backends.cudnn.allow_tf32 is allowed
    formats("FP32").apply_tf32()


@pytest.mark.parametrize("precision", ["BF16", "FP16", "FP32", "FP64"])
def test_the_loss_is_not_computed_in_low_precision(precision: str) -> None:
    of_precision = formats(precision)
    logits = torch.zeros(4, 10, dtype=of_precision.images)
    loss = of_precision.loss_of(logits, torch.zeros(4, dtype=torch.int64))
    assert loss.dtype is (F64 if precision == "FP64" else F32)
    assert float(loss) == pytest.approx(2.302585, abs=1e-6)


@pytest.mark.parametrize("low_precision", [BF16, F16])
def test_autocast_holds_in_the_threads_of_data_parallel(low_precision: torch.dtype) -> None:
    model = AutocastModel(nn.Linear(4, 2), low_precision, "cpu")
    formats_seen = []

    def forward() -> None:
        formats_seen.append(model(torch.zeros(3, 4)).dtype)

    thread = threading.Thread(target=forward)
    thread.start()
    thread.join()
    forward()
    assert formats_seen == [low_precision, low_precision]
    assert model.model.weight.dtype is F32
